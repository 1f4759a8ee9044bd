//! Waiting for what another process does and does not announce.

use std::time::{Duration, Instant};

use crate::watched_value::WAIT_TIMEOUT;

/// Pauses between the calls of a condition. A loop without pauses would take a core from what it waits for.
#[derive(Debug)]
pub struct Polling {
    deadline: Instant,
    pause: Duration,
}

impl Polling {
    const FIRST_PAUSE: Duration = Duration::from_millis(1);
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);

    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self {
            deadline: Instant::now() + timeout,
            pause: Self::FIRST_PAUSE,
        }
    }

    /// Blocks for a moment. Returns false, at once, after the timeout.
    #[must_use]
    pub fn pause(&mut self) -> bool {
        let pause = self.next_pause();
        pause.map(std::thread::sleep).is_some()
    }

    /// As [`Polling::pause`], without blocking the thread.
    pub async fn pause_async(&mut self) -> bool {
        let Some(pause) = self.next_pause() else {
            return false;
        };
        tokio::time::sleep(pause).await;
        true
    }

    fn next_pause(&mut self) -> Option<Duration> {
        let pause = self.pause;
        self.pause = Self::LONGEST_PAUSE.min(pause * 2);
        (Instant::now() < self.deadline).then_some(pause)
    }
}

/// Waits until a condition holds.
///
/// # Panics
///
/// After [`WAIT_TIMEOUT`], with the description of the condition.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let mut polling = Polling::new(WAIT_TIMEOUT);
    while !condition() {
        assert!(polling.pause(), "never so: {what}");
    }
}
