-- Times are milliseconds since 1970, by this server's clock. All that hangs on a task is kept by its
-- number, which rises: what is written at the same time lies on the same pages, and every table whose
-- key begins with it can be partitioned by ranges of it.

-- What was asked for. Never changes.
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
    body         text     NOT NULL
);

-- Where each task stands: narrow, for every change writes it anew. No index holds a column that a
-- renewal changes (due_at, updated_at), so that a renewal touches one page and no index.
CREATE TABLE task (
    task_no    bigint  PRIMARY KEY,
    -- Who waits longest comes first; a step of priority is worth ten minutes of waiting.
    rank       bigint  NOT NULL,
    labels     jsonb   NOT NULL,
    state      text    NOT NULL,
    epoch      bigint  NOT NULL DEFAULT 0,
    token      text,
    worker     text,
    due_at     bigint,
    last_run   integer NOT NULL DEFAULT 0,
    open_run   integer,
    reports    integer NOT NULL DEFAULT 0,
    losses     integer NOT NULL DEFAULT 0,
    cancel     text,
    completion text,
    outcome    text,
    feedback   text,
    reason     text,
    entry_seq  bigint  NOT NULL DEFAULT 0,
    event_seq  bigint  NOT NULL DEFAULT 0,
    log_seq    bigint  NOT NULL,
    updated_at bigint  NOT NULL,
    -- Since when it is over and its journal and files are kept; NULL again once they are gone.
    over_at    bigint
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX task_waiting ON task (rank, task_no) WHERE state = 'queued';
CREATE INDEX task_live ON task (task_no) WHERE state IN ('offered', 'running', 'backoff', 'cancelling');
CREATE INDEX task_over ON task (over_at) WHERE over_at IS NOT NULL;

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

-- The hub's own log: what happened to each task, gapless from 1.
CREATE TABLE log (
    task_no bigint NOT NULL,
    seq     bigint NOT NULL CHECK (seq >= 1),
    at      bigint NOT NULL,
    event   text   NOT NULL,
    PRIMARY KEY (task_no, seq)
);
CREATE TRIGGER log_stays BEFORE UPDATE OR DELETE ON log
    EXECUTE FUNCTION refuse('the log is never changed');

-- Attempts: a row before its agent starts.
CREATE TABLE run (
    task_no    bigint  NOT NULL,
    run_number integer NOT NULL CHECK (run_number >= 1),
    epoch      bigint  NOT NULL,
    begun_at   bigint  NOT NULL,
    closed_at  bigint,
    closing    text,
    PRIMARY KEY (task_no, run_number)
) WITH (fillfactor = 80);

CREATE TABLE report (
    task_no    bigint  NOT NULL,
    run_number integer NOT NULL,
    epoch      bigint  NOT NULL,
    at         bigint  NOT NULL,
    digest     bytea   NOT NULL,
    body       text    NOT NULL,
    PRIMARY KEY (task_no, run_number)
);
CREATE TRIGGER report_stays BEFORE UPDATE OR DELETE ON report
    EXECUTE FUNCTION refuse('a report is never changed');

-- Reports of grants that were over: evidence, never state.
CREATE TABLE late_report (
    task_no    bigint  NOT NULL,
    run_number integer NOT NULL,
    epoch      bigint  NOT NULL,
    at         bigint  NOT NULL,
    digest     bytea   NOT NULL,
    body       text    NOT NULL,
    PRIMARY KEY (task_no, run_number, epoch, digest)
);

-- The run's journal, as its worker wrote it: gapless from 1.
CREATE TABLE journal (
    task_no bigint NOT NULL,
    seq     bigint NOT NULL CHECK (seq >= 1),
    at      bigint NOT NULL,
    event   text   NOT NULL,
    PRIMARY KEY (task_no, seq)
);
CREATE TRIGGER journal_stays BEFORE UPDATE ON journal
    EXECUTE FUNCTION refuse('an event is never changed');

-- The ledger: a call counts once.
CREATE TABLE cost (
    task_no    bigint  NOT NULL,
    run_number integer NOT NULL,
    call_id    text    NOT NULL,
    at         bigint  NOT NULL,
    micro_usd  bigint,
    source     text    NOT NULL,
    tokens_in  bigint  NOT NULL,
    tokens_out bigint  NOT NULL,
    body       text    NOT NULL,
    PRIMARY KEY (task_no, run_number, call_id)
);

CREATE TABLE result (
    task_no       bigint NOT NULL,
    completion_id text   NOT NULL,
    at            bigint NOT NULL,
    body          text   NOT NULL,
    PRIMARY KEY (task_no, completion_id)
);

-- Names of blobs in a task.
CREATE TABLE file (
    task_no bigint NOT NULL,
    name    text   NOT NULL,
    hash    text   NOT NULL,
    size    bigint NOT NULL,
    PRIMARY KEY (task_no, name)
);
CREATE INDEX file_hash ON file (hash);

-- Bytes under their SHA-256, in chunks as they came; what is packed already is not packed again.
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

-- Tokens: never their secrets.
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

-- The hubs that are at work on this database, and who is connected to each: forgotten when they fall
-- silent. Nothing that counts.
CREATE TABLE hub (
    hub_id  uuid   PRIMARY KEY,
    workers text   NOT NULL,
    seen_at bigint NOT NULL
);
