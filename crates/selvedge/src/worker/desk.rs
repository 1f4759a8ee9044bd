//! The outbox for many tasks at once: each call runs where it may block.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_store::{Outbox, StoreError};

/// The worker's outbox.
#[derive(Debug, Clone)]
pub(super) struct Desk(Arc<Mutex<Outbox>>);

/// Why nothing could be written down or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeskError {
    #[error("cannot use the outbox: {}", chain(.0))]
    Store(#[from] StoreError),
    #[error("the outbox: {0}")]
    Lost(String),
}

fn chain(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl Desk {
    pub(super) fn open(directory: &Path) -> Result<Self, DeskError> {
        Ok(Self(Arc::new(Mutex::new(Outbox::open(directory)?))))
    }

    /// Does something with the outbox, and waits for it.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Outbox) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, DeskError> {
        let outbox = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || {
            work(&outbox.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match done.await {
            Ok(done) => Ok(done?),
            Err(panic) => Err(DeskError::Lost(panic.to_string())),
        }
    }
}
