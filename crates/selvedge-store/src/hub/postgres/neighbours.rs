//! Other hubs on the same database: telling them that something changed, hearing it of them, and who
//! is connected to whom.
//!
//! A notification takes a lock on the whole server at its commit, so there is one connection that
//! sends them, at most one in so many milliseconds, and never a transaction that counts. They may be
//! lost: whoever waits looks once a second besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use selvedge_core::model::TaskId;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tokio_postgres::{Client, Error};
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{self, Cells, NOW, ROW};
use super::connect::Connector;
use crate::hub::rows::TaskRow;
use crate::hub::traits::{Answered, Neighbours};

/// Between two notifications.
const QUIET: Duration = Duration::from_millis(50);
/// Between two tries to connect.
const AGAIN: Duration = Duration::from_secs(1);
/// Not kept on the disk: what nobody hears after a crash is looked for anyway.
const LISTEN: &str = "SET synchronous_commit = off; LISTEN selvedge_hub";
/// A hub that was silent for so long is not there.
const SILENT_MS: i64 = 10_000;
/// Tasks that are to be stopped, as far as others can be told at once.
const STOPPED: i64 = 1_000;

/// Rung by whoever wrote something that other hubs want to know of.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: Notify,
}

impl Bell {
    pub(super) fn ring(&self) {
        self.rung.notify_one();
    }
}

/// Sends and hears for as long as the store lives.
pub(super) async fn run(connector: Connector, bell: Arc<Bell>, heard: watch::Sender<u64>) {
    let heard = Arc::new(heard);
    loop {
        if let Ok(client) = listen(&connector, &heard).await {
            // What was said meanwhile was not heard.
            heard.send_modify(|count| *count += 1);
            while bell_rung(&bell, &client).await
                && client.batch_execute("NOTIFY selvedge_hub").await.is_ok()
            {
                sleep(QUIET).await;
            }
        }
        sleep(AGAIN).await;
    }
}

/// Waits for the bell. False once the connection is gone.
async fn bell_rung(bell: &Bell, client: &Client) -> bool {
    loop {
        if tokio::time::timeout(AGAIN, bell.rung.notified())
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

async fn listen(connector: &Connector, heard: &Arc<watch::Sender<u64>>) -> Result<Client, Error> {
    // What this hub says itself it need not hear.
    let own = Arc::new(AtomicI32::new(0));
    let (from, into) = (Arc::clone(&own), Arc::clone(heard));
    let client = connector
        .client_that_hears(move |process| {
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

impl Neighbours for PostgresHub {
    fn elsewhere(&self) -> watch::Receiver<u64> {
        self.heard.clone()
    }

    fn meet(&self, hub: Uuid, workers: String) -> Answered<'_, Vec<String>> {
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
            let rows = self.rows(&sql, &[&hub, &workers, &SILENT_MS]).await?;
            rows.iter().map(|row| Cells::of(row).next()).collect()
        })
    }

    fn as_they_stand(&self, tasks: Vec<TaskId>) -> Answered<'_, Vec<TaskRow>> {
        let sql = format!(
            "SELECT {ROW} FROM request r JOIN task t ON t.task_no = r.task_no
             WHERE r.task_id = ANY($1)"
        );
        let ids: Vec<Uuid> = tasks.into_iter().map(TaskId::uuid).collect();
        Box::pin(async move {
            let rows = self.rows(&sql, &[&ids]).await?;
            let each = rows
                .iter()
                .map(|row| Ok(columns::kept(&mut Cells::of(row))?.row));
            each.collect()
        })
    }

    fn to_be_stopped(&self) -> Answered<'_, Vec<TaskRow>> {
        let sql = format!(
            "SELECT {ROW} FROM task t JOIN request r ON r.task_no = t.task_no
             WHERE t.state IN ('offered', 'running', 'backoff', 'cancelling')
               AND t.state = 'cancelling' LIMIT $1"
        );
        Box::pin(async move {
            let rows = self.rows(&sql, &[&STOPPED]).await?;
            let each = rows
                .iter()
                .map(|row| Ok(columns::kept(&mut Cells::of(row))?.row));
            each.collect()
        })
    }
}
