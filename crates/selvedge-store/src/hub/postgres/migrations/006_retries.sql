-- Whether a task was submitted again.
CREATE INDEX request_retry_of ON request (retry_of) WHERE retry_of IS NOT NULL;

-- Deliveries of one webhook that are due, and those that a hub is sending.
ALTER TABLE webhook_delivery ADD COLUMN is_claimed boolean NOT NULL DEFAULT false;
DROP INDEX webhook_delivery_due;
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_claimed ON webhook_delivery (webhook_id, due_at) WHERE is_claimed;

-- The token that created a schedule; NULL: unknown, because an earlier release created it.
ALTER TABLE schedule ADD COLUMN created_by_token uuid;
