//! Durations of leases, shared by hub and worker: all are derived from the TTL.
//!
//! Invariant: `worker_deadline < ttl < reassign_after`. A worker that cannot renew has ended its processes before its
//! hub assigns the task to another worker, for any drift of the two clocks within the margins.

use std::time::Duration;

/// Durations of one hub's leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTiming {
    ttl: Duration,
}

impl LeaseTiming {
    /// 30 s.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(30);

    /// Creates the durations for a hub's TTL.
    pub const fn of_ttl(ttl: Duration) -> Self {
        Self { ttl }
    }

    /// Duration of a lease after each renewal.
    pub const fn ttl(self) -> Duration {
        self.ttl
    }

    /// Interval of renewals: a third of the TTL, 10 s.
    pub fn renew_interval(self) -> Duration {
        self.ttl / 3
    }

    /// Time after *sending* the last acknowledged renewal for which a worker continues, by its own monotonic clock: the
    /// TTL minus a sixth, 25 s.
    pub fn worker_deadline(self) -> Duration {
        self.ttl.saturating_sub(self.ttl / 6)
    }

    /// Time after the last accepted renewal at which the hub reassigns the task: the TTL plus a third, 40 s.
    pub fn reassign_after(self) -> Duration {
        self.ttl + self.ttl / 3
    }

    /// Time for a worker to accept an offer: a third of the TTL, 10 s.
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
    fn lease_timing_worker_stops_before_reassignment() {
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
