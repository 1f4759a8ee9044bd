//! The time limits of a session: total time, and time without output.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// When a session is stopped. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTimeouts {
    /// Wall time since the program's start.
    pub wall: Option<Duration>,
    /// Time without output on either stream. Time during which the reader itself is busy does not
    /// count.
    pub idle: Option<Duration>,
}

/// Time since which the output's reader has been waiting, shared with the idle timeout.
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

    /// Called before the reader waits for output.
    pub(super) fn mark_waiting(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(BUSY);
        self.waiting_since.store(now, Ordering::Relaxed);
    }

    /// Called when the reader has received output and processes it.
    pub(super) fn mark_busy(&self) {
        self.waiting_since.store(BUSY, Ordering::Relaxed);
    }

    /// Completes after `limit` without output; never if there is no limit.
    pub(super) async fn wait_until_idle(&self, limit: Option<Duration>) {
        match limit {
            Some(limit) => self.wait_until_idle_since(self.start, limit).await,
            None => pending().await,
        }
    }

    /// Completes after `limit` without output, counted from `start` at the earliest.
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

/// Completes after `limit`; never if there is no limit.
pub(super) async fn sleep_or_forever(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => pending().await,
    }
}
