-- Receivers of events. The secret is the key of the signatures.
CREATE TABLE webhook (
    webhook_id uuid   PRIMARY KEY,
    tenant     text   NOT NULL,
    name       text   NOT NULL,
    url        text   NOT NULL,
    format     text   NOT NULL,
    events     text   NOT NULL,              -- JSON; empty: all
    secret     bytea  NOT NULL,
    created_at bigint NOT NULL
);

-- Events for receivers, with the task as it was then.
CREATE TABLE webhook_delivery (
    delivery_no bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id  text    NOT NULL UNIQUE,
    webhook_id  uuid    NOT NULL REFERENCES webhook (webhook_id) ON DELETE CASCADE,
    event       text    NOT NULL,
    task_id     uuid    NOT NULL,
    state       text    NOT NULL,
    outcome     text,
    reason      text,
    attempts    integer NOT NULL,
    at          bigint  NOT NULL,
    tries       integer NOT NULL DEFAULT 0,
    -- When a hub may send it; while one does, the end of its claim. NULL: delivered, or failed for good.
    due_at      bigint,
    delivered   boolean NOT NULL DEFAULT false
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_of ON webhook_delivery (webhook_id, delivery_no);

CREATE TABLE webhook_try (
    delivery_no bigint  NOT NULL REFERENCES webhook_delivery (delivery_no) ON DELETE CASCADE,
    try_number  integer NOT NULL,
    at          bigint  NOT NULL,
    status      integer,
    error       text,
    duration_ms bigint  NOT NULL,
    PRIMARY KEY (delivery_no, try_number)
);

CREATE FUNCTION add_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kind text := CASE NEW.state WHEN 'dead' THEN 'task.dead'
                                WHEN 'needs_review' THEN 'task.needs_review'
                                ELSE 'task.finished' END;
BEGIN
    INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, outcome, reason, attempts, at, due_at)
    SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), w.webhook_id, kind, r.task_id, NEW.state, NEW.outcome,
           NEW.reason, NEW.last_attempt, NEW.updated_at, NEW.updated_at
    FROM request r JOIN webhook w ON w.tenant = r.tenant
    WHERE r.task_no = NEW.task_no AND (w.events = '[]' OR w.events::jsonb @> to_jsonb(kind));
    RETURN NULL;
END $$;
CREATE TRIGGER task_webhooks AFTER UPDATE OF state ON task FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state
          AND NEW.state IN ('succeeded', 'failed', 'cancelled', 'dead', 'needs_review'))
    EXECUTE FUNCTION add_webhook_deliveries();

-- Tasks that are submitted again and again.
CREATE TABLE schedule (
    schedule_id uuid    PRIMARY KEY,
    tenant      text    NOT NULL,
    name        text    NOT NULL,
    cron        text    NOT NULL,
    body        text    NOT NULL,               -- the task as JSON
    created_by  text    NOT NULL,
    created_at  bigint  NOT NULL,
    next_at     bigint ,                        -- NULL: paused
    last_at     bigint ,
    last_task   uuid,
    last_error  text
);
CREATE INDEX schedule_due ON schedule (next_at) WHERE next_at IS NOT NULL;
