//! The hub's tables in one SQLite file: for a single hub, without further installation.
//!
//! One thread writes. It drains a bounded channel into one transaction, commits, and only then answers all its callers,
//! so that many callers share one sync of the disk. Readers have their own read-only connections. A lock next to the
//! file prevents a second hub from opening it.

mod access;
mod blobs;
mod clock;
pub(super) mod columns;
mod deadline_index;
mod held_counts;
mod open;
mod projects;
mod queue;
mod reader_pool;
mod reports;
mod retention;
mod schedules;
mod task_queries;
mod tokens;
pub(super) mod webhooks;
mod writer;
mod writer_cache;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use uuid::Uuid;

use self::access::FileIdentity;
use self::clock::StoreClock;
use self::open::SingleHubLock;
use self::reader_pool::ReaderPool;
use self::writer::SqliteWriter;
use self::writer_cache::WriterCache;
use super::error::HubStoreError;
use super::traits::StoreSettings;

/// A hub's store in an SQLite file.
#[derive(Debug)]
pub struct SqliteHub {
    writer: SqliteWriter,
    readers: ReaderPool,
    clock: Arc<StoreClock>,
    settings: StoreSettings,
    path: PathBuf,
    /// The file that was opened: it may be removed or replaced meanwhile.
    file: FileIdentity,
    database_id: Uuid,
    _lock: SingleHubLock,
}

impl SqliteHub {
    /// Opens the database; creates it and its parent directories if they are missing.
    pub fn open(path: &Path, settings: StoreSettings) -> Result<Self, HubStoreError> {
        let alone = open::lock_for_one_hub(path)?;
        let db = open::open_for_writing(path)?;
        let clock = Arc::new(StoreClock::start());
        queue::extend_leases_after_restart(&db, clock.now(), &settings.rules)?;
        let database_id = access::load_database_id(&db)?;
        webhooks::release_claims_after_restart(&db, clock.now())?;
        Ok(Self {
            readers: ReaderPool::open(path)?,
            writer: SqliteWriter::start(WriterCache::new(db))?,
            clock,
            settings,
            path: path.to_owned(),
            file: FileIdentity::of(path)?,
            database_id,
            _lock: alone,
        })
    }

    async fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&WriterCache) -> Result<T, HubStoreError> + Send + 'static,
    ) -> Result<T, HubStoreError> {
        self.writer.write(job).await
    }

    async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, HubStoreError> + Send + 'static,
    ) -> Result<T, HubStoreError> {
        self.readers.read(job).await
    }
}
