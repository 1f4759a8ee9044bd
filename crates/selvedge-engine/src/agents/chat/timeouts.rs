//! The time limits of a session that is not a process: total time, and time without activity.

use std::time::{Duration, Instant};

use selvedge_core::model::{SessionLimits, SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use crate::agents::program::timeout_outcome;

/// Applies the time limits and cancellation to every wait of a session.
#[derive(Debug, Clone, Copy)]
pub(in crate::agents) struct SessionTimer<'a> {
    limits: SessionLimits,
    started: Instant,
    cancel: &'a CancellationToken,
}

/// Why a wait was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) enum WaitError {
    TimedOut,
    IdleTimeout,
    Cancelled,
}

impl<'a> SessionTimer<'a> {
    pub(in crate::agents) fn start(limits: SessionLimits, cancel: &'a CancellationToken) -> Self {
        Self {
            limits,
            started: Instant::now(),
            cancel,
        }
    }

    /// Waits for `work`, unless a time limit or the caller ends the wait. Every wait starts a new
    /// period without activity.
    pub(in crate::agents) async fn wait_for<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, WaitError> {
        let idle_timeout = Duration::from_millis(self.limits.idle_timeout_ms);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(WaitError::Cancelled),
            done = work => Ok(done),
            () = tokio::time::sleep(self.remaining_time()) => Err(WaitError::TimedOut),
            () = tokio::time::sleep(idle_timeout) => Err(WaitError::IdleTimeout),
        }
    }

    pub(in crate::agents) fn remaining_time(&self) -> Duration {
        Duration::from_millis(self.limits.wall_ms).saturating_sub(self.started.elapsed())
    }

    pub(in crate::agents) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(in crate::agents) fn cancellation_token(&self) -> &'a CancellationToken {
        self.cancel
    }

    /// The outcome of a session that was stopped for this reason.
    pub(in crate::agents) fn outcome_of(&self, stopped: WaitError) -> SessionOutcome {
        match stopped {
            WaitError::TimedOut => timeout_outcome(self.limits.wall_ms, "not finished"),
            WaitError::IdleTimeout => timeout_outcome(self.limits.idle_timeout_ms, "no answer"),
            WaitError::Cancelled => SessionOutcome::failed(SessionStatus::Cancelled, "cancelled"),
        }
    }
}
