-- The events: append-only, and gapless in each run from 1.
CREATE TABLE event (
    run_id TEXT    NOT NULL CHECK (length(run_id) = 36),
    seq    INTEGER NOT NULL CHECK (seq >= 1),
    v      INTEGER NOT NULL,               -- version of the envelope
    at     TEXT    NOT NULL,               -- RFC 3339, UTC
    type   TEXT    NOT NULL,
    data   TEXT,                           -- JSON; absent when the type alone says it all
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_follows BEFORE INSERT ON event
WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM event WHERE run_id = NEW.run_id), 0)
BEGIN SELECT RAISE(ABORT, 'an event must follow the last one of its run'); END;

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never removed'); END;

-- What a list of runs shows: derived from the events in the same transaction, and rebuildable.
CREATE TABLE run (
    run_id         TEXT    NOT NULL PRIMARY KEY,
    last_seq       INTEGER NOT NULL,
    created_at     TEXT    NOT NULL,
    updated_at     TEXT    NOT NULL,
    -- From the specification; all absent when its form is not understood.
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
    session_open   INTEGER NOT NULL CHECK (session_open IN (0, 1))
) STRICT, WITHOUT ROWID;
