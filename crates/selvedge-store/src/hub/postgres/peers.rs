//! Peers on the same database: notifying them of changes, receiving their notifications, and sharing the list
//! of connected workers.
//!
//! A notification takes a server-wide lock at its commit. Therefore one separate connection sends them,
//! rate-limited, and never in a transaction that writes data. Notifications may be lost, so waiting code also
//! polls once a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use selvedge_core::model::TaskId;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tokio_postgres::{Client, Error};
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, ROW_COLUMNS};
use super::connect::Connector;
use crate::hub::rows::TaskRecord;
use crate::hub::traits::{Peers, StoreFuture};

/// Minimum interval between two notifications.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(50);
/// Pause between two connection attempts.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// Without waiting for the disk: changes whose notifications are lost in a crash are found by polling.
const LISTEN: &str = "SET synchronous_commit = off; LISTEN selvedge_hub";
/// A peer without a heartbeat for this long is considered gone.
const PEER_TIMEOUT_MS: i64 = 10_000;
/// Maximum number of cancellations that are reported at once.
const MAX_CANCELLATIONS: i64 = 1_000;

/// Signalled when this hub has written something that peers need to know of.
#[derive(Debug, Default)]
pub(super) struct NotifyDebouncer {
    notify: Notify,
}

impl NotifyDebouncer {
    pub(super) fn notify(&self) {
        self.notify.notify_one();
    }
}

/// Sends and receives notifications for as long as the store lives.
pub(super) async fn run(
    connector: Connector,
    debouncer: Arc<NotifyDebouncer>,
    changes: watch::Sender<u64>,
) {
    let changes = Arc::new(changes);
    loop {
        if let Ok(client) = listen(&connector, &changes).await {
            // Notifications may have been missed while there was no connection.
            changes.send_modify(|count| *count += 1);
            while forward_notification(&debouncer, &client).await
                && client.batch_execute("NOTIFY selvedge_hub").await.is_ok()
            {
                sleep(NOTIFY_INTERVAL).await;
            }
        }
        sleep(RECONNECT_PAUSE).await;
    }
}

/// Waits for a change to announce. Returns `false` once the connection is lost.
async fn forward_notification(debouncer: &NotifyDebouncer, client: &Client) -> bool {
    loop {
        if tokio::time::timeout(RECONNECT_PAUSE, debouncer.notify.notified())
            .await
            .is_ok()
        {
            return true;
        }
        if client.is_closed() {
            return false;
        }
    }
}

async fn listen(connector: &Connector, changes: &Arc<watch::Sender<u64>>) -> Result<Client, Error> {
    // This hub ignores its own notifications.
    let own = Arc::new(AtomicI32::new(0));
    let (from, into) = (Arc::clone(&own), Arc::clone(changes));
    let client = connector
        .listening_client(move |process| {
            if process != from.load(Ordering::Relaxed) {
                into.send_modify(|count| *count += 1);
            }
        })
        .await?;
    let process = client.query_one("SELECT pg_backend_pid()", &[]).await?;
    own.store(process.get(0), Ordering::Relaxed);
    client.batch_execute(LISTEN).await?;
    Ok(client)
}

impl Peers for PostgresHub {
    fn change_stream(&self) -> watch::Receiver<u64> {
        self.peer_changes.clone()
    }

    fn heartbeat(&self, hub: Uuid, workers: String) -> StoreFuture<'_, Vec<String>> {
        let sql = format!(
            "WITH me AS (
                 INSERT INTO hub VALUES ($1, $2, {NOW})
                 ON CONFLICT (hub_id) DO UPDATE SET
                     workers = CASE WHEN hub.workers = excluded.workers THEN hub.workers
                                    ELSE excluded.workers END,
                     seen_at = excluded.seen_at
             ), silent AS (
                 DELETE FROM hub WHERE hub_id IN (
                     SELECT hub_id FROM hub WHERE hub_id <> $1 AND seen_at < {NOW} - $3::bigint
                     FOR UPDATE SKIP LOCKED)
             )
             SELECT workers FROM hub WHERE hub_id <> $1 AND seen_at >= {NOW} - $3::bigint"
        );
        Box::pin(async move {
            let rows = self.rows(&sql, &[&hub, &workers, &PEER_TIMEOUT_MS]).await?;
            rows.iter()
                .map(|row| PostgresColumns::of(row).next())
                .collect()
        })
    }

    fn task_rows(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<TaskRecord>> {
        let sql = format!(
            "SELECT {ROW_COLUMNS} FROM request r JOIN task t ON t.task_no = r.task_no
             WHERE r.task_id = ANY($1)"
        );
        let ids: Vec<Uuid> = tasks.into_iter().map(TaskId::uuid).collect();
        Box::pin(async move { self.task_records(&sql, &[&ids]).await })
    }

    fn pending_cancellations(&self) -> StoreFuture<'_, Vec<TaskRecord>> {
        let sql = format!(
            "SELECT {ROW_COLUMNS} FROM task t JOIN request r ON r.task_no = t.task_no
             WHERE t.state IN ('offered', 'running', 'backoff', 'cancelling')
               AND t.state = 'cancelling' LIMIT $1"
        );
        Box::pin(async move { self.task_records(&sql, &[&MAX_CANCELLATIONS]).await })
    }
}
