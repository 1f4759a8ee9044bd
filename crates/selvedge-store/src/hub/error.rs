//! Errors of the hub's store.

/// A failure of the store. It is unknown whether the write is durable, so the caller repeats it: every write
/// can be repeated without harm.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HubStoreError {
    /// The disk is full.
    #[error("the disk that holds the hub's database is full")]
    DiskFull,
    /// Another program is using the database.
    #[error("the hub's database is in use by another hub: {0}")]
    InUse(String),
    /// The database does not respond.
    #[error("the hub's database is unavailable: {0}")]
    Unavailable(String),
    /// The database address is invalid.
    #[error("invalid database address: {0}")]
    Address(String),
    /// The server responds, but rejects this hub or lacks a required ability.
    #[error("the hub's database rejects this hub: {0}")]
    Refused(String),
    /// The database was written by a later release.
    #[error(
        "the hub's database has format {found}, but this program supports formats up to {supported}: use \
         the release that wrote it, or a later one"
    )]
    Newer {
        /// Its format.
        found: usize,
        /// The latest one that this program supports.
        supported: usize,
    },
    /// The stored data is not valid.
    #[error("the hub's database is damaged: {0}")]
    Damaged(String),
    /// The object of a chunk was written after its reservation had expired, and is about to be deleted.
    #[error("the upload of a chunk took too long; repeat it")]
    ReservationExpired,
    /// The writer has ended: the hub is stopping.
    #[error("the hub is stopping")]
    Stopping,
}

impl HubStoreError {
    /// Adds the location to errors that do not contain it.
    #[cfg(feature = "postgres")]
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Unavailable(reason) => Self::Unavailable(format!("{place}: {reason}")),
            Self::Refused(reason) => Self::Refused(format!("{place}: {reason}")),
            other => other,
        }
    }
}

impl From<rusqlite::Error> for HubStoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::InUse(error.to_string())
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Unavailable(error.to_string()),
        }
    }
}
