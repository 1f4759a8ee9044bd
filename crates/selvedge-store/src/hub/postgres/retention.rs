//! Retention: removes old data in small steps. Tasks, logs, reports and costs stay: their rows are the
//! tombstones that keep late entries of old workers from counting.

use super::PostgresHub;
use super::columns::NOW;
use crate::hub::error::HubStoreError;

/// Maximum number of blobs that are removed in one step, because each may be large.
const MAX_BLOBS: i64 = 20;

/// One step over tasks that ended long ago. It removes their journals and files first; tasks that have none
/// left are not visited again. Rows that another hub is removing are skipped.
fn purge_tasks_query() -> String {
    format!(
        "WITH old AS (
             SELECT task_no FROM task WHERE over_at < {NOW} - $1::bigint
             ORDER BY over_at LIMIT 50 FOR NO KEY UPDATE SKIP LOCKED
         ), events AS (
             DELETE FROM journal WHERE (task_no, seq) IN (
                 SELECT j.task_no, j.seq FROM old JOIN journal j ON j.task_no = old.task_no LIMIT $2)
             RETURNING 1
         ), files AS (
             DELETE FROM file WHERE (task_no, name) IN (
                 SELECT f.task_no, f.name FROM old JOIN file f ON f.task_no = old.task_no LIMIT $2)
             RETURNING 1
         ), done AS (
             UPDATE task SET over_at = NULL WHERE task_no IN (SELECT task_no FROM old)
               AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.task_no = task.task_no)
               AND NOT EXISTS (SELECT 1 FROM file f WHERE f.task_no = task.task_no)
             RETURNING 1
         )
         SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM files)
                + (SELECT count(*) FROM done)"
    )
}

fn purge_keys_query() -> String {
    format!(
        "WITH gone AS (
             DELETE FROM idempotency WHERE (project, key) IN (
                 SELECT project, key FROM idempotency WHERE created_at < {NOW} - $1::bigint
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING 1
         )
         SELECT count(*) FROM gone"
    )
}

fn purge_blobs_query() -> String {
    format!(
        "WITH gone AS (
             DELETE FROM blob WHERE hash IN (
                 SELECT hash FROM blob b WHERE b.updated_at < {NOW} - $1::bigint
                   AND NOT EXISTS (SELECT 1 FROM file f WHERE f.hash = b.hash)
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING 1
         )
         SELECT count(*) FROM gone"
    )
}

fn purge_deliveries_query() -> String {
    format!(
        "WITH gone AS (
             DELETE FROM webhook_delivery WHERE delivery_no IN (
                 SELECT delivery_no FROM webhook_delivery WHERE at < {NOW} - $1::bigint AND due_at IS NULL
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING 1
         )
         SELECT count(*) FROM gone"
    )
}

fn purge_sessions_query() -> String {
    format!(
        "WITH gone AS (
             DELETE FROM login_session WHERE session_id IN (
                 SELECT session_id FROM login_session WHERE expires_at < {NOW} - $1::bigint
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING 1
         )
         SELECT count(*) FROM gone"
    )
}

fn purge_daily_costs_query() -> String {
    format!(
        "WITH gone AS (
             DELETE FROM daily_cost WHERE (day, submitter_no, backend) IN (
                 SELECT day, submitter_no, backend FROM daily_cost
                 WHERE day < ({NOW} - $1::bigint) / 86400000
                 LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING 1
         )
         SELECT count(*) FROM gone"
    )
}

/// Removes a part of the data older than the limit. Returns the number of removed rows and of tasks that have
/// nothing left.
pub(super) async fn purge_step(
    hub: &PostgresHub,
    older_than_ms: i64,
    limit: usize,
) -> Result<u64, HubStoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut gone = 0;
    for (sql, limit) in [
        (purge_tasks_query(), limit),
        (purge_keys_query(), limit),
        (purge_blobs_query(), limit.min(MAX_BLOBS)),
        (purge_deliveries_query(), limit),
        (purge_sessions_query(), limit),
        (purge_daily_costs_query(), limit),
    ] {
        let rows = hub.rows(&sql, &[&older_than_ms, &limit]).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        gone += u64::try_from(count).unwrap_or(0);
    }
    Ok(gone)
}
