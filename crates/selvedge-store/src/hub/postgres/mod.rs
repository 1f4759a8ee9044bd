//! The hub's tables in PostgreSQL: for any number of hubs on one database.
//!
//! Frequent writes go through *batch writers*: connections that each write all waiting jobs as one
//! transaction and answer after its commit. Everything else uses a pool. As for every store,
//! [`super::apply()`] decides the effect of a change; this module locks, loads and writes rows. The server's
//! clock is the only one that is used.

mod access;
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
mod projects;
mod queue;
mod reports;
mod retention;
mod schedules;
mod submit;
mod task_queries;
mod tokens;
mod webhooks;
mod writes;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use deadpool_postgres::Pool;
use selvedge_core::model::TaskId;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use self::address::DatabaseAddress;
use self::assignments::AssignmentWriter;
use self::batch_writer::BatchWriter;
use self::changes::ChangeWriter;
use self::columns::PostgresColumns;
use self::connect::{Connector, PlanMode, is_lost};
use self::peers::NotifyDebouncer;
use self::submit::SubmissionWriter;
use super::error::HubStoreError;
use super::rows::TaskRecord;
use super::traits::StoreSettings;

/// Number of writers for changes. While one waits for its commit, the other continues.
const CHANGE_WRITERS: usize = 2;
/// Number of connections for frequent reads that find their rows by keys.
const KEY_POOL_SIZE: usize = 4;
/// Number of connections for other reads and rare writes.
const POOL_SIZE: usize = 4;

/// A hub's store in a PostgreSQL database that other hubs may share.
#[derive(Debug)]
pub struct PostgresHub {
    changes: Vec<BatchWriter<ChangeWriter>>,
    claims: BatchWriter<AssignmentWriter>,
    submissions: BatchWriter<SubmissionWriter>,
    pool: Pool,
    key_pool: Pool,
    database_id: Uuid,
    peer_changes: watch::Receiver<u64>,
    peer_listener: JoinHandle<()>,
}

impl Drop for PostgresHub {
    fn drop(&mut self) {
        self.peer_listener.abort();
    }
}

impl PostgresHub {
    /// Connects to `postgres://USER@HOST/DATABASE` and migrates its tables. The password may be given
    /// separately.
    pub async fn open(
        url: &str,
        password: Option<&str>,
        settings: StoreSettings,
    ) -> Result<Self, HubStoreError> {
        let connector = Connector::new(DatabaseAddress::parse(url, password)?)?;
        let at_server = |error: HubStoreError| error.at(&connector.describe());
        let mut client = connector
            .client()
            .await
            .map_err(|error| at_server(error.into()))?;
        migrate::migrate(&mut client).await.map_err(at_server)?;
        let forgotten = commit_marker::delete_old_markers(&client).await;
        forgotten.map_err(|error| at_server(error.into()))?;
        let database_id = access::load_database_id(&client).await;
        let database_id = database_id.map_err(at_server)?;
        drop(client);
        let rules = settings.rules;
        let debouncer = Arc::new(NotifyDebouncer::default());
        let changes = Arc::new(ChangeWriter {
            rules,
            notifier: Arc::clone(&debouncer),
        });
        let claims = AssignmentWriter {
            rules,
            notifier: Arc::clone(&debouncer),
        };
        let submissions = SubmissionWriter {
            notifier: Arc::clone(&debouncer),
        };
        let start_writer = |_| BatchWriter::start(connector.clone(), Arc::clone(&changes));
        let (sender, peer_changes) = watch::channel(0);
        Ok(Self {
            changes: (0..CHANGE_WRITERS).map(start_writer).collect(),
            claims: BatchWriter::start(connector.clone(), Arc::new(claims)),
            submissions: BatchWriter::start(connector.clone(), Arc::new(submissions)),
            pool: connector.pool(POOL_SIZE, PlanMode::Custom)?,
            key_pool: connector.pool(KEY_POOL_SIZE, PlanMode::ByKey)?,
            database_id,
            peer_changes,
            peer_listener: tokio::spawn(peers::run(connector, debouncer, sender)),
        })
    }

    /// The writer for a task: all changes of a task use the same one, which keeps their order.
    fn writer_for(&self, task: TaskId) -> &BatchWriter<ChangeWriter> {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        let writers = u64::try_from(self.changes.len()).unwrap_or(1);
        let at = usize::try_from(hasher.finish() % writers).unwrap_or(0);
        &self.changes[at]
    }

    /// Executes one statement on any connection, and again if the connection turns out to be lost. Only for
    /// statements that may be executed twice.
    async fn rows(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, HubStoreError> {
        query_with_retry(&self.pool, sql, values).await
    }

    /// The same for a frequent statement that finds all rows by keys; its plan is kept.
    async fn rows_by_key(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, HubStoreError> {
        query_with_retry(&self.key_pool, sql, values).await
    }

    /// The tasks that a statement finds, which reads [`columns::ROW_COLUMNS`].
    async fn task_records(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<TaskRecord>, HubStoreError> {
        let rows = self.rows(sql, values).await?;
        let records = rows
            .iter()
            .map(|row| Ok(columns::read_task_row(&mut PostgresColumns::of(row))?.row));
        records.collect()
    }
}

async fn query_with_retry(
    pool: &Pool,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, HubStoreError> {
    let mut tried = false;
    loop {
        let client = pool.get().await?;
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
