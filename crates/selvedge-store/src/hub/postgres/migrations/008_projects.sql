-- What was called a tenant is a project.
ALTER TABLE request RENAME COLUMN tenant TO project;
ALTER TABLE idempotency RENAME COLUMN tenant TO project;
ALTER TABLE token RENAME COLUMN tenant TO project;
ALTER TABLE audit RENAME COLUMN tenant TO project;
ALTER TABLE login_session RENAME COLUMN tenant TO project;
ALTER TABLE webhook RENAME COLUMN tenant TO project;
ALTER TABLE schedule RENAME COLUMN tenant TO project;

CREATE OR REPLACE FUNCTION add_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kind text := CASE NEW.state WHEN 'dead' THEN 'task.dead'
                                WHEN 'needs_review' THEN 'task.needs_review'
                                ELSE 'task.finished' END;
BEGIN
    INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, outcome, reason, attempts, at, due_at)
    SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), w.webhook_id, kind, r.task_id, NEW.state, NEW.outcome,
           NEW.reason, NEW.last_attempt, NEW.updated_at, NEW.updated_at
    FROM request r JOIN webhook w ON w.project = r.project
    WHERE r.task_no = NEW.task_no AND (w.events = '[]' OR w.events::jsonb @> to_jsonb(kind));
    RETURN NULL;
END $$;
