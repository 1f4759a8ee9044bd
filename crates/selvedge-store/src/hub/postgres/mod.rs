//! The hub's tables in PostgreSQL: for any number of hubs on one database.
//!
//! What is written often goes through *lanes*: connections that each write what waits as one
//! transaction and answer after its commit. Everything else uses a pool. What a change means is decided
//! by [`super::apply()`], as for every store; here rows are locked, loaded and written. The only clock is
//! the server's.

mod address;
mod assignments;
mod batch_writer;
mod blobs;
mod changes;
mod columns;
mod commit_marker;
mod connect;
mod list;
mod migrate;
mod peers;
mod queue;
mod reports;
mod retention;
mod submit;
mod task_queries;
mod tokens;
mod writes;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use deadpool_postgres::Pool;
use selvedge_core::model::TaskId;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::address::DatabaseAddress;
use self::assignments::AssignmentWriter;
use self::batch_writer::BatchWriter;
use self::changes::ChangeWriter;
use self::connect::{Connector, is_lost};
use self::peers::NotifyDebouncer;
use self::submit::SubmissionWriter;
use super::error::HubStoreError;
use super::traits::StoreSettings;

/// Lanes for changes. While one waits for its commit, the other goes on.
const CHANGE_WRITERS: usize = 2;
/// Connections for reading, and for what is written seldom.
const POOL_SIZE: usize = 6;

/// A hub's store in a database that other hubs may use, too.
#[derive(Debug)]
pub struct PostgresHub {
    changes: Vec<BatchWriter<ChangeWriter>>,
    claims: BatchWriter<AssignmentWriter>,
    submissions: BatchWriter<SubmissionWriter>,
    pool: Pool,
    peer_changes: watch::Receiver<u64>,
    peer_listener: JoinHandle<()>,
}

impl Drop for PostgresHub {
    fn drop(&mut self) {
        self.peer_listener.abort();
    }
}

impl PostgresHub {
    /// Connects to `postgres://USER@HOST/DATABASE`, and brings its tables up to date. The password may
    /// come from elsewhere than from the address.
    pub async fn open(
        url: &str,
        password: Option<&str>,
        settings: StoreSettings,
    ) -> Result<Self, HubStoreError> {
        let connector = Connector::new(DatabaseAddress::parse(url, password)?)?;
        let told = |error: HubStoreError| error.at(&connector.describe());
        let mut client = connector
            .client()
            .await
            .map_err(|error| told(error.into()))?;
        migrate::migrate(&mut client).await.map_err(told)?;
        let forgotten = commit_marker::delete_old_markers(&client).await;
        forgotten.map_err(|error| told(error.into()))?;
        drop(client);
        let rules = settings.rules;
        let bell = Arc::new(NotifyDebouncer::default());
        let changes = Arc::new(ChangeWriter {
            rules,
            notifier: Arc::clone(&bell),
        });
        let claims = AssignmentWriter {
            rules,
            notifier: Arc::clone(&bell),
        };
        let submissions = SubmissionWriter {
            notifier: Arc::clone(&bell),
        };
        let lane = |_| BatchWriter::start(connector.clone(), Arc::clone(&changes));
        let (hearing, heard) = watch::channel(0);
        Ok(Self {
            changes: (0..CHANGE_WRITERS).map(lane).collect(),
            claims: BatchWriter::start(connector.clone(), Arc::new(claims)),
            submissions: BatchWriter::start(connector.clone(), Arc::new(submissions)),
            pool: connector.pool(POOL_SIZE)?,
            peer_changes: heard,
            peer_listener: tokio::spawn(peers::run(connector, bell, hearing)),
        })
    }

    /// A task's changes go through one lane, so that they keep their order.
    fn writer_for(&self, task: TaskId) -> &BatchWriter<ChangeWriter> {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        let lanes = u64::try_from(self.changes.len()).unwrap_or(1);
        let at = usize::try_from(hasher.finish() % lanes).unwrap_or(0);
        &self.changes[at]
    }

    /// One statement on any connection; once more where the connection turns out to be gone. Only for
    /// what may be done twice.
    async fn rows(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, HubStoreError> {
        let mut tried = false;
        loop {
            let client = self.pool.get().await?;
            let done = async {
                client
                    .query(&client.prepare_cached(sql).await?, values)
                    .await
            };
            match done.await {
                Err(error) if is_lost(&error) && !tried => tried = true,
                done => return Ok(done?),
            }
        }
    }
}
