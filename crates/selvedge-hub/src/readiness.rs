//! The readiness probe: a write that is committed, within a short time. Its result is reused for a second, so
//! that probes are not a load.

use std::time::Duration;

use selvedge_store::hub::HubStoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::hub::Hub;

/// How long a result is reused.
const RESULT_TTL: Duration = Duration::from_secs(1);
/// How long the write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the hub is not ready.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum NotReadyError {
    /// The store refuses writes, or is gone.
    #[error(transparent)]
    Store(#[from] HubStoreError),
    /// The store does not answer.
    #[error("the store did not write within {} s", WRITE_TIMEOUT.as_secs())]
    Timeout,
}

/// The last result, and when it was known.
#[derive(Debug, Default)]
pub(crate) struct ReadinessCache(Mutex<Option<(Instant, Result<(), NotReadyError>)>>);

/// Whether the hub can store something.
pub(crate) async fn check(hub: &Hub) -> Result<(), NotReadyError> {
    // Locked while it is determined: concurrent probes wait for the same result.
    let mut cached = hub.readiness.0.lock().await;
    let recent = cached.as_ref().filter(|(at, _)| at.elapsed() < RESULT_TTL);
    if let Some((_, result)) = recent {
        return result.clone();
    }
    let result = match timeout(WRITE_TIMEOUT, hub.store.probe_writes()).await {
        Ok(written) => written.map_err(NotReadyError::from),
        Err(_) => Err(NotReadyError::Timeout),
    };
    if let Err(error) = &result {
        tracing::error!(%error, "not ready");
    }
    *cached = Some((Instant::now(), result.clone()));
    result
}
