-- Events: append-only, and gapless from 1 in each run.
CREATE TABLE event (
    run_id TEXT    NOT NULL CHECK (length(run_id) = 36),
    seq    INTEGER NOT NULL CHECK (seq >= 1),
    v      INTEGER NOT NULL,               -- version of the envelope
    at     TEXT    NOT NULL,               -- RFC 3339, UTC
    type   TEXT    NOT NULL,
    data   TEXT,                           -- JSON; NULL for a type without data
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_follows BEFORE INSERT ON event
WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM event WHERE run_id = NEW.run_id), 0)
BEGIN SELECT RAISE(ABORT, 'an event must follow the last one of its run'); END;

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never removed'); END;

-- Summaries for lists of runs: derived from the events in the same transaction; can be rebuilt.
CREATE TABLE run (
    run_id         TEXT    NOT NULL PRIMARY KEY,
    last_seq       INTEGER NOT NULL,
    created_at     TEXT    NOT NULL,
    updated_at     TEXT    NOT NULL,
    -- From the specification; all NULL if this release cannot read it.
    task_id        TEXT,
    workspace      TEXT,
    description    TEXT,
    agent          TEXT,
    max_attempts   INTEGER,
    attempts       INTEGER NOT NULL,
    standing       TEXT    NOT NULL
                   CHECK (standing IN ('open', 'suspended', 'awaiting_review', 'finished')),
    outcome        TEXT    CHECK ((outcome IS NOT NULL) = (standing = 'finished')),
    cost_micro_usd INTEGER,
    cost_source    TEXT    NOT NULL,
    session_open   INTEGER NOT NULL CHECK (session_open IN (0, 1)),
    -- The plan and the name of a subtask's run; both are NULL for other runs.
    plan           TEXT,
    subtask        TEXT
) STRICT, WITHOUT ROWID;
