-- Whether a task was submitted again.
CREATE INDEX task_retry_of ON task (retry_of) WHERE retry_of IS NOT NULL;

-- Deliveries of one webhook that are due, and those that the hub is sending.
DROP INDEX webhook_delivery_due;
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_claimed ON webhook_delivery (webhook_id, due_at) WHERE is_claimed = 1;

-- The token that created a schedule; NULL: unknown, because an earlier release created it.
ALTER TABLE schedule ADD COLUMN created_by_token TEXT;
