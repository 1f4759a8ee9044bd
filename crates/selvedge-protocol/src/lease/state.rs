//! The state of a task's lease, and the periods and limits that apply to all leases.

use crate::{LeaseToken, TaskState};
use selvedge_core::model::{Outcome, ReviewRecord};

/// Periods in milliseconds, and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRules {
    /// Duration of a lease after a renewal, by the worker's clock.
    pub ttl_ms: i64,
    /// Additional time before the hub reassigns the task.
    pub grace_ms: i64,
    /// Time to accept an offer.
    pub offer_ms: i64,
    /// Delay after the first loss; doubled with each further one, up to a factor of 64.
    pub backoff_ms: i64,
    /// Maximum number of losses before the task fails.
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

/// The state of one task that decides which inputs are legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseState {
    /// State of the task.
    pub state: TaskState,
    /// Number of assignments so far.
    pub epoch: u64,
    /// The token of the last assignment.
    pub token: Option<String>,
    /// The holder's name; the last holder's if the task is not held.
    pub worker: Option<String>,
    /// When the hub revokes the lease, or ends a delay: milliseconds since 1970.
    pub due_at: Option<i64>,
    /// The highest run number so far.
    pub last_attempt: u32,
    /// The run that has begun and not ended.
    pub open_attempt: Option<u32>,
    /// Number of verifications with a report.
    pub reports: u32,
    /// Leases lost and infrastructure errors.
    pub losses: u32,
    /// Reason of a person's cancellation request.
    pub cancel: Option<String>,
    /// The worker's own id of the accepted completion.
    pub completion: Option<String>,
    /// Its outcome.
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

    /// Whether this credential of the task belongs to the latest assignment, which may have ended.
    pub fn is_latest(&self, token: &LeaseToken) -> bool {
        self.epoch == token.lease_epoch && self.token.as_ref() == Some(&token.lease_token)
    }

    /// Whether this credential of the task is the holder's.
    pub fn is_held_by(&self, token: &LeaseToken) -> bool {
        self.is_held() && self.is_latest(token)
    }
}
