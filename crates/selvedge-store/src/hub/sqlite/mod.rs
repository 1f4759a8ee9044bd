//! The hub's tables in one SQLite file: for one hub, with nothing else installed.
//!
//! One thread writes. It drains a bounded channel into one transaction, commits, and only then
//! answers everyone in it, so that many callers share one sync of the disk. Readers have connections
//! of their own that cannot write. A lock beside the file keeps a second hub out.

mod blobs;
mod board;
mod clock;
pub(super) mod columns;
mod desk;
mod due;
mod identities;
mod open;
mod queue;
mod read;
mod reports;
mod writer;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use self::clock::Clock;
use self::desk::Desk;
use self::open::Alone;
use self::read::Readers;
use self::writer::Writer;
use super::error::HubStoreError;
use super::traits::Settings;

/// A hub's store in a file.
#[derive(Debug)]
pub struct SqliteHub {
    writer: Writer,
    readers: Readers,
    clock: Arc<Clock>,
    settings: Settings,
    _alone: Alone,
}

impl SqliteHub {
    /// Opens the database, or makes it, with the directories above.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, HubStoreError> {
        let alone = open::alone(path)?;
        let db = open::to_write(path)?;
        let clock = Arc::new(Clock::start());
        queue::welcome_back(&db, clock.now(), &settings.rules)?;
        Ok(Self {
            readers: Readers::open(path)?,
            writer: Writer::start(Desk::new(db))?,
            clock,
            settings,
            _alone: alone,
        })
    }

    async fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&Desk) -> Result<T, HubStoreError> + Send + 'static,
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
