//! Why the hub's store could not do what it was asked.

/// A failure of the store. Nothing is known of what was asked: it may be durable or not, so it is
/// asked again, and every write is such that asking again is harmless.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HubStoreError {
    /// There is no room.
    #[error("the disk that holds the hub's database is full")]
    DiskFull,
    /// Somebody else has it.
    #[error("the hub's database is in use by another hub: {0}")]
    InUse(String),
    /// It does not answer.
    #[error("the hub's database does not answer: {0}")]
    Unavailable(String),
    /// What says where it is cannot be understood.
    #[error("not the address of a database: {0}")]
    Address(String),
    /// It answers, and does not let this hub in, or not do what it must.
    #[error("the hub's database refuses this hub: {0}")]
    Refused(String),
    /// A later release wrote it.
    #[error(
        "the hub's database has format {found}, and this program knows formats up to {known}: use \
         the release that wrote it, or a later one"
    )]
    Newer {
        /// Its format.
        found: usize,
        /// The latest one that this program knows.
        known: usize,
    },
    /// What is stored cannot be what was written.
    #[error("the hub's database is damaged: {0}")]
    Damaged(String),
    /// The writer is gone: the hub is stopping.
    #[error("the hub is stopping")]
    Stopping,
}

impl HubStoreError {
    /// Says where, where nothing else does.
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
