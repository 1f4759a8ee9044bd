//! The arithmetic of leases, which hub and worker must agree on: all of it follows from the TTL.
//!
//! Invariant: `fence < ttl < give_away`. A worker that cannot renew has ended its processes before its
//! hub gives the task to another, whatever the drift of two clocks within the margins.

use std::time::Duration;

/// Durations of one hub's leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTiming {
    ttl: Duration,
}

impl LeaseTiming {
    /// 30 s.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(30);

    /// By the TTL that a hub names.
    pub const fn of_ttl(ttl: Duration) -> Self {
        Self { ttl }
    }

    /// How long a lease lasts from each renewal.
    pub const fn ttl(self) -> Duration {
        self.ttl
    }

    /// How often a worker renews: a third of the TTL, 10 s.
    pub fn renew_interval(self) -> Duration {
        self.ttl / 3
    }

    /// How long after the *sending* of the last renewal that was acknowledged a worker goes on, by its own
    /// monotonic clock: the TTL less a sixth, 25 s.
    pub fn worker_deadline(self) -> Duration {
        self.ttl.saturating_sub(self.ttl / 6)
    }

    /// How long after the last renewal that it took the hub gives the task away: the TTL and a third, 40 s.
    pub fn reassign_after(self) -> Duration {
        self.ttl + self.ttl / 3
    }

    /// How long a hub waits for a worker to take an offer: a third of the TTL, 10 s.
    pub fn offer_timeout(self) -> Duration {
        self.ttl / 3
    }
}

impl Default for LeaseTiming {
    fn default() -> Self {
        Self::of_ttl(Self::DEFAULT_TTL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_ends_its_work_before_the_hub_gives_it_away() {
        let timing = LeaseTiming::default();
        assert_eq!(timing.renew_interval(), Duration::from_secs(10));
        assert_eq!(timing.worker_deadline(), Duration::from_secs(25));
        assert_eq!(timing.reassign_after(), Duration::from_secs(40));
        for ttl in [1, 300, 2_000, 30_000, 3_600_000] {
            let timing = LeaseTiming::of_ttl(Duration::from_millis(ttl));
            assert!(
                timing.renew_interval() * 2 < timing.worker_deadline(),
                "{ttl} ms"
            );
            assert!(timing.worker_deadline() < timing.ttl(), "{ttl} ms");
            assert!(timing.ttl() < timing.reassign_after(), "{ttl} ms");
        }
    }
}
