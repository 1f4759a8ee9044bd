//! The two clocks of a session that is not a process: how long it runs, how long it is silent.

use std::time::{Duration, Instant};

use selvedge_core::model::{SessionLimits, SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use crate::agents::program::ran_out;

/// Watches over everything that a session waits for.
#[derive(Debug, Clone, Copy)]
pub(in crate::agents) struct Clocks<'a> {
    limits: SessionLimits,
    started: Instant,
    cancel: &'a CancellationToken,
}

/// Why a wait was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) enum Stopped {
    TimedOut,
    Silent,
    Cancelled,
}

impl<'a> Clocks<'a> {
    pub(in crate::agents) fn start(limits: SessionLimits, cancel: &'a CancellationToken) -> Self {
        Self {
            limits,
            started: Instant::now(),
            cancel,
        }
    }

    /// Waits for `work`, unless a clock or the caller ends it first. Every wait begins a silence.
    pub(in crate::agents) async fn watch<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let silence = Duration::from_millis(self.limits.silence_ms);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stopped::Cancelled),
            done = work => Ok(done),
            () = tokio::time::sleep(self.wall_left()) => Err(Stopped::TimedOut),
            () = tokio::time::sleep(silence) => Err(Stopped::Silent),
        }
    }

    pub(in crate::agents) fn wall_left(&self) -> Duration {
        Duration::from_millis(self.limits.wall_ms).saturating_sub(self.started.elapsed())
    }

    pub(in crate::agents) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(in crate::agents) fn cancel(&self) -> &'a CancellationToken {
        self.cancel
    }

    /// The outcome of a session that was so stopped.
    pub(in crate::agents) fn outcome(&self, stopped: Stopped) -> SessionOutcome {
        match stopped {
            Stopped::TimedOut => ran_out(self.limits.wall_ms, "no end"),
            Stopped::Silent => ran_out(self.limits.silence_ms, "no answer"),
            Stopped::Cancelled => SessionOutcome::failed(SessionStatus::Cancelled, "cancelled"),
        }
    }
}
