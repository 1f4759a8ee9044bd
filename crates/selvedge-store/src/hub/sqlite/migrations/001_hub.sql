-- Tasks and their current state. Times are milliseconds since 1970, ids are text. All data of a task is stored
-- under its number, so rows that are written at the same time are on the same pages.
CREATE TABLE task (
    task_no      INTEGER NOT NULL PRIMARY KEY,
    task_id      TEXT    NOT NULL UNIQUE CHECK (length(task_id) = 36),
    tenant       TEXT    NOT NULL,
    submitted_by TEXT    NOT NULL,
    retry_of     TEXT,
    title        TEXT    NOT NULL,
    agent        TEXT,
    place        TEXT,
    priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    labels       TEXT    NOT NULL,              -- JSON, sorted
    max_attempts INTEGER NOT NULL,
    -- The lowest rank is assigned first; one step of priority equals ten minutes of waiting.
    rank         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    state        TEXT    NOT NULL,              -- never tested with IN, which builds a table at each write
    epoch        INTEGER NOT NULL DEFAULT 0,
    token        TEXT,
    worker       TEXT,
    due_at       INTEGER,
    last_attempt INTEGER NOT NULL DEFAULT 0,
    open_attempt INTEGER,
    reports      INTEGER NOT NULL DEFAULT 0,
    losses       INTEGER NOT NULL DEFAULT 0,
    cancel       TEXT,
    completion   TEXT,
    outcome      TEXT,
    feedback     TEXT,
    reason       TEXT,
    entry_seq    INTEGER NOT NULL DEFAULT 0,
    event_seq    INTEGER NOT NULL DEFAULT 0,
    log_seq      INTEGER NOT NULL DEFAULT 0,
    -- The plan and the name of a subtask; both are NULL for other tasks.
    part_of      TEXT,
    subtask      TEXT
) STRICT;

-- Deadlines have no index, which every change of a task would write: they are kept in memory.
CREATE INDEX task_waiting ON task (rank) WHERE state = 'queued';

-- Plans that may not have ended yet, which the hub itself carries out: few among many tasks. An index would be checked
-- by every change of every task.
CREATE TABLE plan (
    task_no INTEGER NOT NULL PRIMARY KEY
) STRICT;

-- Complete tasks, as submitted.
CREATE TABLE task_body (
    task_no INTEGER NOT NULL PRIMARY KEY,
    body    TEXT    NOT NULL
) STRICT;

CREATE TABLE idempotency (
    tenant     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    task_no    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

-- The hub's log of each task: gapless from 1.
CREATE TABLE log (
    task_no INTEGER NOT NULL,
    seq     INTEGER NOT NULL CHECK (seq >= 1),
    at      INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    PRIMARY KEY (task_no, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER log_stays BEFORE UPDATE ON log
BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER log_is_kept BEFORE DELETE ON log
BEGIN SELECT RAISE(ABORT, 'the log is never removed'); END;

-- Attempts. The row is written before the agent starts.
CREATE TABLE attempt (
    task_no        INTEGER NOT NULL,
    attempt_number INTEGER NOT NULL CHECK (attempt_number >= 1),
    epoch          INTEGER NOT NULL,
    begun_at       INTEGER NOT NULL,
    closed_at      INTEGER,
    closed_as      TEXT,
    PRIMARY KEY (task_no, attempt_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE report (
    task_no        INTEGER NOT NULL,
    attempt_number INTEGER NOT NULL,
    epoch          INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    digest         BLOB    NOT NULL,
    body           TEXT    NOT NULL,
    PRIMARY KEY (task_no, attempt_number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER report_stays BEFORE UPDATE ON report
BEGIN SELECT RAISE(ABORT, 'a report is never changed'); END;

-- Reports under leases that had ended: evidence that never changes the state.
CREATE TABLE late_report (
    task_no        INTEGER NOT NULL,
    attempt_number INTEGER NOT NULL,
    epoch          INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    digest         BLOB    NOT NULL,
    body           TEXT    NOT NULL,
    PRIMARY KEY (task_no, attempt_number, epoch, digest)
) STRICT, WITHOUT ROWID;

-- The run's journal, as the worker wrote it: gapless from 1.
CREATE TABLE journal (
    task_no INTEGER NOT NULL,
    seq     INTEGER NOT NULL CHECK (seq >= 1),
    at      INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    PRIMARY KEY (task_no, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER journal_stays BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

-- The cost ledger: each call counts once.
CREATE TABLE cost (
    task_no        INTEGER NOT NULL,
    attempt_number INTEGER NOT NULL,
    call_id        TEXT    NOT NULL,
    at             INTEGER NOT NULL,
    micro_usd      INTEGER,
    source         TEXT    NOT NULL,
    tokens_in      INTEGER NOT NULL,
    tokens_out     INTEGER NOT NULL,
    body           TEXT    NOT NULL,
    PRIMARY KEY (task_no, attempt_number, call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE result (
    task_no       INTEGER NOT NULL,
    completion_id TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    body          TEXT    NOT NULL,
    PRIMARY KEY (task_no, completion_id)
) STRICT, WITHOUT ROWID;

-- A task's files: names of blobs.
CREATE TABLE file (
    task_no INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    hash    TEXT    NOT NULL,
    size    INTEGER NOT NULL,
    PRIMARY KEY (task_no, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_hash ON file (hash);

-- Content under its SHA-256, in chunks as received.
CREATE TABLE blob (
    hash       TEXT    NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    total      INTEGER NOT NULL,
    received   INTEGER NOT NULL,
    whole      INTEGER NOT NULL CHECK (whole IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_chunk (
    hash  TEXT    NOT NULL,
    start INTEGER NOT NULL,
    bytes BLOB    NOT NULL,
    PRIMARY KEY (hash, start),
    FOREIGN KEY (hash) REFERENCES blob (hash) ON DELETE CASCADE
) STRICT;

-- API tokens, without their secrets.
CREATE TABLE token (
    token_id     TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    tenant       TEXT    NOT NULL,
    scopes       TEXT    NOT NULL,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

-- Statistics of a run, derived from its journal up to an event; computed again where they are missing.
CREATE TABLE run_stats (
    task_no   INTEGER NOT NULL PRIMARY KEY,
    event_seq INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT;
