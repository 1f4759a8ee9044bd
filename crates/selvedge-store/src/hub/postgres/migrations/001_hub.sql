-- Times are milliseconds since 1970, by the server's clock. All data of a task is stored under its number,
-- which increases: rows that are written at the same time are on the same pages, and every table whose key
-- begins with the number can be partitioned by ranges of it.

-- Submitted tasks. Never changed.
CREATE TABLE request (
    task_no      bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id      uuid     NOT NULL UNIQUE,
    tenant       text     NOT NULL,
    submitted_by text     NOT NULL,
    retry_of     uuid,
    title        text     NOT NULL,
    agent        text,
    place        text,
    priority     smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    max_attempts integer  NOT NULL,
    created_at   bigint   NOT NULL,
    body         text     NOT NULL,
    -- The plan and the name of a subtask; both are NULL for other tasks.
    part_of      uuid,
    subtask      text
);

-- The current state of each task. Rows are narrow because every change writes the whole row. No index has a
-- column that a renewal changes (due_at, updated_at), so a renewal writes one page and no index.
CREATE TABLE task (
    task_no      bigint  PRIMARY KEY,
    -- The lowest rank is assigned first; one step of priority equals ten minutes of waiting.
    rank         bigint  NOT NULL,
    labels       jsonb   NOT NULL,
    state        text    NOT NULL,
    epoch        bigint  NOT NULL DEFAULT 0,
    token        text,
    worker       text,
    due_at       bigint,
    last_attempt integer NOT NULL DEFAULT 0,
    open_attempt integer,
    reports      integer NOT NULL DEFAULT 0,
    losses       integer NOT NULL DEFAULT 0,
    cancel       text,
    completion   text,
    outcome      text,
    feedback     text,
    reason       text,
    entry_seq    bigint  NOT NULL DEFAULT 0,
    event_seq    bigint  NOT NULL DEFAULT 0,
    log_seq      bigint  NOT NULL,
    updated_at   bigint  NOT NULL,
    -- When the task ended; NULL again once its journal and files are purged.
    over_at      bigint
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX task_waiting ON task (rank, task_no) WHERE state = 'queued';
CREATE INDEX task_live ON task (task_no) WHERE state IN ('offered', 'running', 'backoff', 'cancelling');
CREATE INDEX task_over ON task (over_at) WHERE over_at IS NOT NULL;
-- Plans that have not ended, which the hub itself carries out: few among many tasks.
CREATE INDEX task_plan ON task (task_no) WHERE labels = '["selvedge:plan"]'::jsonb AND outcome IS NULL;

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER over_stays_over BEFORE UPDATE ON task FOR EACH ROW
    WHEN (OLD.state IN ('succeeded', 'failed', 'cancelled', 'dead') AND NEW.state <> OLD.state)
    EXECUTE FUNCTION refuse('a task that is over never changes its state');
CREATE TRIGGER epoch_rises BEFORE UPDATE ON task FOR EACH ROW
    WHEN (NEW.epoch < OLD.epoch)
    EXECUTE FUNCTION refuse('an epoch never falls');

CREATE TABLE idempotency (
    tenant     text   NOT NULL,
    key        text   NOT NULL,
    hash       bytea  NOT NULL,
    task_id    uuid   NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- The hub's log of each task: gapless from 1.
CREATE TABLE log (
    task_no bigint NOT NULL,
    seq     bigint NOT NULL CHECK (seq >= 1),
    at      bigint NOT NULL,
    event   text   NOT NULL,
    PRIMARY KEY (task_no, seq)
);
CREATE TRIGGER log_stays BEFORE UPDATE OR DELETE ON log
    EXECUTE FUNCTION refuse('the log is never changed');

-- Attempts. The row is written before the agent starts.
CREATE TABLE attempt (
    task_no        bigint  NOT NULL,
    attempt_number integer NOT NULL CHECK (attempt_number >= 1),
    epoch          bigint  NOT NULL,
    begun_at       bigint  NOT NULL,
    closed_at      bigint,
    closed_as      text,
    PRIMARY KEY (task_no, attempt_number)
) WITH (fillfactor = 80);

CREATE TABLE report (
    task_no        bigint  NOT NULL,
    attempt_number integer NOT NULL,
    epoch          bigint  NOT NULL,
    at             bigint  NOT NULL,
    digest         bytea   NOT NULL,
    body           text    NOT NULL,
    PRIMARY KEY (task_no, attempt_number)
);
CREATE TRIGGER report_stays BEFORE UPDATE OR DELETE ON report
    EXECUTE FUNCTION refuse('a report is never changed');

-- Reports under leases that had ended: evidence that never changes the state.
CREATE TABLE late_report (
    task_no        bigint  NOT NULL,
    attempt_number integer NOT NULL,
    epoch          bigint  NOT NULL,
    at             bigint  NOT NULL,
    digest         bytea   NOT NULL,
    body           text    NOT NULL,
    PRIMARY KEY (task_no, attempt_number, epoch, digest)
);

-- The run's journal, as the worker wrote it: gapless from 1.
CREATE TABLE journal (
    task_no bigint NOT NULL,
    seq     bigint NOT NULL CHECK (seq >= 1),
    at      bigint NOT NULL,
    event   text   NOT NULL,
    PRIMARY KEY (task_no, seq)
);
CREATE TRIGGER journal_stays BEFORE UPDATE ON journal
    EXECUTE FUNCTION refuse('an event is never changed');

-- The cost ledger: each call counts once.
CREATE TABLE cost (
    task_no        bigint  NOT NULL,
    attempt_number integer NOT NULL,
    call_id        text    NOT NULL,
    at             bigint  NOT NULL,
    micro_usd      bigint,
    source         text    NOT NULL,
    tokens_in      bigint  NOT NULL,
    tokens_out     bigint  NOT NULL,
    body           text    NOT NULL,
    PRIMARY KEY (task_no, attempt_number, call_id)
);

CREATE TABLE result (
    task_no       bigint NOT NULL,
    completion_id text   NOT NULL,
    at            bigint NOT NULL,
    body          text   NOT NULL,
    PRIMARY KEY (task_no, completion_id)
);

-- A task's files: names of blobs.
CREATE TABLE file (
    task_no bigint NOT NULL,
    name    text   NOT NULL,
    hash    text   NOT NULL,
    size    bigint NOT NULL,
    PRIMARY KEY (task_no, name)
);
CREATE INDEX file_hash ON file (hash);

-- Content under its SHA-256, in chunks as received; stored without compression, because it is already compressed.
CREATE TABLE blob (
    hash       text    PRIMARY KEY CHECK (length(hash) = 64),
    total      bigint  NOT NULL,
    received   bigint  NOT NULL,
    whole      boolean NOT NULL,
    updated_at bigint  NOT NULL
);
CREATE INDEX blob_age ON blob (updated_at);
CREATE TABLE blob_chunk (
    hash  text   NOT NULL REFERENCES blob (hash) ON DELETE CASCADE,
    start bigint NOT NULL,
    bytes bytea  NOT NULL,
    PRIMARY KEY (hash, start)
);
ALTER TABLE blob_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- API tokens, without their secrets.
CREATE TABLE token (
    token_id     uuid   PRIMARY KEY,
    name         text   NOT NULL,
    prefix       text   NOT NULL,
    tenant       text   NOT NULL,
    scopes       text   NOT NULL,
    hash         bytea  NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   bigint NOT NULL,
    expires_at   bigint,
    last_used_at bigint,
    revoked_at   bigint
);

-- The hubs that use this database and the workers that are connected to each. A hub's row is removed when its
-- heartbeats stop.
CREATE TABLE hub (
    hub_id  uuid   PRIMARY KEY,
    workers text   NOT NULL,
    seen_at bigint NOT NULL
);

-- Statistics of a run, derived from its journal up to an event; computed again where they are missing.
CREATE TABLE run_stats (
    task_no   bigint NOT NULL PRIMARY KEY,
    event_seq bigint NOT NULL,
    body      text   NOT NULL
);

-- The last committed transaction of each writer, which shows whether a transaction was committed whose commit was not
-- answered. No transaction up to the one that was given up can still be committed.
CREATE TABLE commit_marker (
    writer_id uuid   NOT NULL PRIMARY KEY,
    batch     bigint NOT NULL,
    given_up  bigint NOT NULL,
    used_at   bigint NOT NULL
);
