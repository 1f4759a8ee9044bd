//! What is known of a task's lease, and the periods and limits that hold for all of them.

use crate::model::{Outcome, ReviewRecord};
use crate::protocol::TaskState;

/// What a worker shows with every write: which grant it speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseCredential {
    /// Which grant of the task: up by one at every grant, never reset.
    pub epoch: u64,
    /// Random, told to the holder alone.
    pub token: String,
}

/// Periods in milliseconds, and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRules {
    /// How long a lease lasts after a renewal, as the worker counts.
    pub ttl_ms: i64,
    /// How much longer the hub waits before it gives the task away.
    pub grace_ms: i64,
    /// How long an offer stands before it is taken back.
    pub offer_ms: i64,
    /// The pause after the first loss; doubled with every further one, at most 64 times.
    pub backoff_ms: i64,
    /// Losses that a task survives.
    pub max_losses: u32,
}

impl Default for LeaseRules {
    fn default() -> Self {
        Self {
            ttl_ms: 30_000,
            grace_ms: 10_000,
            offer_ms: 10_000,
            backoff_ms: 1_000,
            max_losses: 2,
        }
    }
}

/// Everything about one task that decides which input is legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseState {
    /// Where it stands.
    pub state: TaskState,
    /// Grants so far.
    pub epoch: u64,
    /// The token of the last grant.
    pub token: Option<String>,
    /// The holder's name; the last holder's once nobody holds it.
    pub worker: Option<String>,
    /// When the hub takes it back, or ends a pause: milliseconds since 1970.
    pub due_at: Option<i64>,
    /// The highest run number given out.
    pub last_attempt: u32,
    /// The run that has begun and not ended.
    pub open_attempt: Option<u32>,
    /// Verification runs that came to a report.
    pub reports: u32,
    /// Leases lost and infrastructure errors.
    pub losses: u32,
    /// A person asked for its end, for this reason.
    pub cancel: Option<String>,
    /// The worker's own id of the completion that counted.
    pub completion: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// A person's last decision, until the next run begins.
    pub review: Option<ReviewRecord>,
}

impl Default for LeaseState {
    fn default() -> Self {
        Self {
            state: TaskState::Queued,
            epoch: 0,
            token: None,
            worker: None,
            due_at: None,
            last_attempt: 0,
            open_attempt: None,
            reports: 0,
            losses: 0,
            cancel: None,
            completion: None,
            outcome: None,
            review: None,
        }
    }
}

impl LeaseState {
    /// Whether a worker holds it.
    pub const fn is_held(&self) -> bool {
        matches!(
            self.state,
            TaskState::Offered | TaskState::Running | TaskState::Cancelling
        )
    }

    /// Whether this fence was given out with the latest grant, which may be over.
    pub fn is_latest(&self, fence: &LeaseCredential) -> bool {
        self.epoch == fence.epoch && self.token.as_ref() == Some(&fence.token)
    }

    /// Whether this fence is the holder's.
    pub fn is_held_by(&self, fence: &LeaseCredential) -> bool {
        self.is_held() && self.is_latest(fence)
    }
}
