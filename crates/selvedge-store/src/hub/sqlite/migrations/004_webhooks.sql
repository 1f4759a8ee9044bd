-- Receivers of events. The secret is the key of the signatures.
CREATE TABLE webhook (
    webhook_id TEXT    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    format     TEXT    NOT NULL,
    events     TEXT    NOT NULL,              -- JSON; empty: all
    secret     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events for receivers, with the task as it was then.
CREATE TABLE webhook_delivery (
    delivery_no INTEGER NOT NULL PRIMARY KEY,
    message_id  TEXT    NOT NULL UNIQUE,
    webhook_id  TEXT    NOT NULL REFERENCES webhook (webhook_id) ON DELETE CASCADE,
    event       TEXT    NOT NULL,
    task_id     TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    outcome     TEXT,
    reason      TEXT,
    attempts    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    tries       INTEGER NOT NULL DEFAULT 0,
    due_at      INTEGER,                      -- NULL: delivered, or failed for good
    is_claimed  INTEGER NOT NULL DEFAULT 0,
    delivered   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_of ON webhook_delivery (webhook_id, delivery_no);

CREATE TABLE webhook_try (
    delivery_no INTEGER NOT NULL REFERENCES webhook_delivery (delivery_no) ON DELETE CASCADE,
    try_number  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    status      INTEGER,
    error       TEXT,
    duration_ms INTEGER NOT NULL,
    PRIMARY KEY (delivery_no, try_number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER task_webhooks AFTER UPDATE OF state ON task
WHEN NEW.state <> OLD.state
     AND (NEW.state = 'succeeded' OR NEW.state = 'failed' OR NEW.state = 'cancelled' OR NEW.state = 'dead'
          OR NEW.state = 'needs_review')
BEGIN
    INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, outcome, reason, attempts, at, due_at)
    SELECT 'msg_' || lower(hex(randomblob(16))), webhook_id, kind, NEW.task_id, NEW.state, NEW.outcome, NEW.reason,
           NEW.last_attempt, NEW.updated_at, NEW.updated_at
    FROM webhook, (SELECT CASE NEW.state WHEN 'dead' THEN 'task.dead'
                                         WHEN 'needs_review' THEN 'task.needs_review'
                                         ELSE 'task.finished' END AS kind)
    WHERE tenant = NEW.tenant
      AND (events = '[]' OR EXISTS (SELECT 1 FROM json_each(events) WHERE value = kind));
END;

-- Tasks that are submitted again and again.
CREATE TABLE schedule (
    schedule_id TEXT    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    cron        TEXT    NOT NULL,
    body        TEXT    NOT NULL,               -- the task as JSON
    created_by  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    next_at     INTEGER,                        -- NULL: paused
    last_at     INTEGER,
    last_task   TEXT,
    last_error  TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (next_at) WHERE next_at IS NOT NULL;
