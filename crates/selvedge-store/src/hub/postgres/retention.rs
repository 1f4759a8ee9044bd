//! Retention: removes old data in small steps. Tasks, logs, reports and costs stay: their rows are the
//! tombstones that keep late entries of old workers from counting.

use super::PostgresHub;
use super::columns::NOW;
use crate::hub::error::HubStoreError;
use crate::hub::projects::DAY_MS;

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

/// Removes at most `$2` rows with a condition. Rows that another hub is removing are skipped.
fn purge_query(table: &str, key: &str, expired: &str) -> String {
    format!(
        "WITH gone AS (
             DELETE FROM {table} WHERE ({key}) IN (
                 SELECT {key} FROM {table} WHERE {expired} LIMIT $2 FOR UPDATE SKIP LOCKED)
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
    let before = format!("{NOW} - $1::bigint");
    let keys = format!("created_at < {before}");
    let blobs = format!(
        "updated_at < {before} AND NOT EXISTS (SELECT 1 FROM file f WHERE f.hash = blob.hash)"
    );
    let deliveries = format!("at < {before} AND due_at IS NULL");
    let sessions = format!("expires_at < {before}");
    let costs = format!("day < ({before}) / {DAY_MS}");
    for (sql, limit) in [
        (purge_tasks_query(), limit),
        (purge_query("idempotency", "project, key", &keys), limit),
        (purge_query("blob", "hash", &blobs), limit.min(MAX_BLOBS)),
        (
            purge_query("webhook_delivery", "delivery_no", &deliveries),
            limit,
        ),
        (purge_query("login_session", "session_id", &sessions), limit),
        (
            purge_query("daily_cost", "day, submitter_no, backend", &costs),
            limit,
        ),
    ] {
        let rows = hub.rows(&sql, &[&older_than_ms, &limit]).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        gone += u64::try_from(count).unwrap_or(0);
    }
    Ok(gone)
}
