//! The outbox for concurrent tasks: each call runs on a thread that may block.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use selvedge_store::{Outbox, StoreError};

#[derive(Debug, Clone)]
pub(super) struct AsyncOutbox(Arc<Mutex<Outbox>>);

/// Why the outbox could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutboxError {
    #[error("cannot use the outbox: {}", error_chain(.0))]
    Store(#[from] StoreError),
    #[error("outbox failed: {0}")]
    Panicked(String),
}

fn error_chain(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl AsyncOutbox {
    pub(super) fn open(directory: &Path) -> Result<Self, OutboxError> {
        Ok(Self(Arc::new(Mutex::new(Outbox::open(directory)?))))
    }

    /// Runs `work` on the outbox.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Outbox) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, OutboxError> {
        let outbox = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&outbox.lock()));
        match done.await {
            Ok(done) => Ok(done?),
            Err(panic) => Err(OutboxError::Panicked(panic.to_string())),
        }
    }
}
