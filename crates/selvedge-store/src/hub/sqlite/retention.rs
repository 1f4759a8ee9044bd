//! Retention: removes old data in small steps. Tasks, logs, reports and costs stay: their rows are the
//! tombstones that keep late entries of old workers from counting.

/// The steps, in order of execution. Each removes at most `?2` rows that are older than `?1`.
pub(super) const RETENTION_STEPS: [&str; 7] = [
    "DELETE FROM journal WHERE (task_no, seq) IN (
         SELECT j.task_no, j.seq FROM journal j JOIN task t USING (task_no)
         WHERE t.updated_at < ?1 AND t.state IN ('succeeded', 'failed', 'cancelled', 'dead')
         LIMIT ?2)",
    "DELETE FROM idempotency WHERE (project, key) IN (
         SELECT project, key FROM idempotency WHERE created_at < ?1 LIMIT ?2)",
    "DELETE FROM file WHERE (task_no, name) IN (
         SELECT f.task_no, f.name FROM file f JOIN task t USING (task_no)
         WHERE t.updated_at < ?1 AND t.state IN ('succeeded', 'failed', 'cancelled', 'dead')
         LIMIT ?2)",
    "DELETE FROM blob WHERE hash IN (
         SELECT hash FROM blob b WHERE b.updated_at < ?1
           AND NOT EXISTS (SELECT 1 FROM file f WHERE f.hash = b.hash)
         LIMIT min(?2, 20))",
    "DELETE FROM webhook_delivery WHERE delivery_no IN (
         SELECT delivery_no FROM webhook_delivery WHERE at < ?1 AND due_at IS NULL LIMIT ?2)",
    "DELETE FROM login_session WHERE session_id IN (
         SELECT session_id FROM login_session WHERE expires_at < ?1 LIMIT ?2)",
    "DELETE FROM daily_cost WHERE (day, submitter_no) IN (
         SELECT day, submitter_no FROM daily_cost WHERE day < ?1 / 86400000 LIMIT ?2)",
];
