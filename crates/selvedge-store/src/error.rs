//! Errors of the journal's store. Conditions that a user can fix have their own variants; all other database
//! errors are passed on unchanged.

use std::io;
use std::path::PathBuf;

use selvedge_core::model::RunId;

/// A failure of the store. After a failed `append` it is unknown whether the events are durable: the caller
/// must stop, and must read the journal before it continues.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk that holds the journal is full")]
    DiskFull,
    /// The journal or its file system is read-only.
    #[error("the journal cannot be written: it is read-only")]
    ReadOnly,
    /// Another program kept the journal locked for longer than the timeout.
    #[error("the journal is locked by another program")]
    Busy,
    /// The state directory contains no journal: nothing has been run yet.
    #[error("no journal found at {}", path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    /// The journal was written by a later release.
    #[error(
        "the journal at {} has format {found}, but this program supports formats up to {supported}: \
         use the release that wrote it, or a later one",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: usize,
        /// The latest format that this program supports.
        supported: usize,
    },
    /// The stored data is not valid.
    #[error("the journal is damaged: {0}")]
    Damaged(String),
    /// The given events do not follow the given sequence number: a bug in the calling program, detected
    /// before anything is written.
    #[error("event {seq} of run {run} is out of sequence")]
    OutOfSequence {
        /// The run to append to.
        run: RunId,
        /// The sequence number of the misplaced event.
        seq: u64,
    },
    /// An event cannot be encoded as JSON.
    #[error("cannot encode event {seq}")]
    Encode {
        /// Its sequence number.
        seq: u64,
        /// The cause.
        source: serde_json::Error,
    },
    /// The state directory, or a file in it, cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Any other database error.
    #[error("database error")]
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
    /// Converts an error from creating the state directory or opening a file in it.
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
