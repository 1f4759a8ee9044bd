//! The two clocks of a session: how long it runs, and how long it has been silent.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// When a session is stopped. `None` means never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTimeouts {
    /// Wall time since the program's start.
    pub wall: Option<Duration>,
    /// Time without a byte on either stream. Time that the reader itself is busy does not count.
    pub idle: Option<Duration>,
}

/// Since when the reader of the output has been waiting, shared with the clock.
#[derive(Debug, Clone)]
pub(super) struct Heartbeat {
    start: Instant,
    /// Milliseconds after `start`, or [`BUSY`].
    waiting_since: Arc<AtomicU64>,
}

const BUSY: u64 = u64::MAX;

impl Heartbeat {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            waiting_since: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The reader is about to wait for output.
    pub(super) fn mark_waiting(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(BUSY);
        self.waiting_since.store(now, Ordering::Relaxed);
    }

    /// The reader has got output and works on it.
    pub(super) fn mark_busy(&self) {
        self.waiting_since.store(BUSY, Ordering::Relaxed);
    }

    /// Ends when there has been no output for `limit`; never without one.
    pub(super) async fn wait_until_idle(&self, limit: Option<Duration>) {
        match limit {
            Some(limit) => self.wait_until_idle_since(self.start, limit).await,
            None => pending().await,
        }
    }

    /// Ends when there has been no output for `limit`, counted from `start` at the earliest.
    pub(super) async fn wait_until_idle_since(&self, start: Instant, limit: Duration) {
        loop {
            let since = match self.waiting_since.load(Ordering::Relaxed) {
                BUSY => Instant::now(),
                millis => start.max(self.start + Duration::from_millis(millis)),
            };
            if since.elapsed() >= limit {
                return;
            }
            tokio::time::sleep_until(since + limit).await;
        }
    }
}

/// Ends after `limit`; never without one.
pub(super) async fn sleep_or_forever(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => pending().await,
    }
}
