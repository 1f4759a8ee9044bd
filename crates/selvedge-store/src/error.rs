//! Why the store could not do what it was asked. Conditions that a person can mend have a variant
//! each; whatever else the database says is passed on in its own words.

use std::io;
use std::path::PathBuf;

use selvedge_core::model::RunId;

/// A failure of the store. After a failed `append` nothing is known: it may have been made durable
/// or not, so the caller stops, and whoever goes on reads the journal first.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no room for another event.
    #[error("the disk that holds the journal is full")]
    DiskFull,
    /// The journal, or the file system that it lies on, cannot be written.
    #[error("the journal cannot be written: it is open for reading only")]
    ReadOnly,
    /// Another program kept the journal locked for longer than we wait.
    #[error("another program keeps the journal locked")]
    Busy,
    /// There is no journal in the state directory: nothing has been run yet.
    #[error("there is no journal at {}", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// A later release wrote it.
    #[error(
        "the journal at {} has format {found}, and this program knows formats up to {known}: \
         use the release that wrote it, or a later one",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: usize,
        /// The latest format that this program knows.
        known: usize,
    },
    /// What is stored cannot be what was written.
    #[error("the journal is damaged: {0}")]
    Damaged(String),
    /// The events handed in do not follow the sequence number that the caller named: a mistake in
    /// the calling program, found before anything is written.
    #[error("event {seq} of run {run} is out of sequence")]
    OutOfSequence {
        /// The run that is appended to.
        run: RunId,
        /// The number that the misplaced event bears.
        seq: u64,
    },
    /// An event that has no JSON form.
    #[error("cannot encode event {seq}")]
    Encode {
        /// Its number.
        seq: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// The state directory or the file in it.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anything else, in the database's words.
    #[error("the database refused")]
    Database(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase, ReadOnly,
        };
        match error.sqlite_error_code() {
            Some(DiskFull) => Self::DiskFull,
            Some(ReadOnly) => Self::ReadOnly,
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Database(error),
        }
    }
}

impl StoreError {
    /// For a state directory that could not be made, or a file in it that could not be opened.
    pub(crate) fn opening(path: impl Into<PathBuf>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Open {
                path: path.into(),
                source,
            },
        }
    }
}
