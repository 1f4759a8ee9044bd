//! The state of a task's lease, and the periods and limits that apply to all leases.

use super::event::LossReason;
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
    /// Delay after the first lease that expired; doubled with each further loss, up to a factor of 64.
    pub expiry_backoff_ms: i64,
    /// Delay after the first infrastructure failure that a worker reports; doubled with each further loss, up to a
    /// factor of 64, and extended by up to a fifth, so that tasks that failed together are not tried together.
    pub backoff_ms: i64,
    /// Maximum number of losses before the task fails.
    pub max_losses: u32,
}

impl LeaseRules {
    /// The largest number of doublings of a delay.
    const MAX_DOUBLINGS: u32 = 6;

    /// The delay after `losses` losses, the last one for this reason. `seed` selects the extension.
    pub(super) fn backoff_after(&self, reason: LossReason, losses: u32, seed: &str) -> i64 {
        let doublings = losses.saturating_sub(1).min(Self::MAX_DOUBLINGS);
        if reason != LossReason::Infrastructure {
            return self.expiry_backoff_ms << doublings;
        }
        let pause_ms = self.backoff_ms << doublings;
        let percent = seed.bytes().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        }) % 21;
        pause_ms + pause_ms / 100 * i64::from(percent)
    }

    /// The longest delay.
    pub fn max_backoff_ms(&self) -> i64 {
        let longest = self.backoff_ms.max(self.expiry_backoff_ms) << Self::MAX_DOUBLINGS;
        longest + longest / 5
    }
}

impl Default for LeaseRules {
    fn default() -> Self {
        Self {
            ttl_ms: 30_000,
            grace_ms: 10_000,
            offer_ms: 10_000,
            expiry_backoff_ms: 1_000,
            backoff_ms: 60_000,
            max_losses: 4,
        }
    }
}

/// Why the hub does not accept a worker's report that a task is verified: a person has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerdictDoubtError {
    /// No attempt began.
    #[error("its worker reported `verified` without an attempt")]
    NoAttempt,
    /// The last attempt has no report, or one that does not pass.
    #[error("its worker reported `verified`, but attempt {attempt} has no passing report")]
    NoPassingReport {
        /// The last attempt.
        attempt: u32,
    },
    /// There were more attempts than the task permits.
    #[error(
        "its worker reported `verified` after {attempts} verified attempts; the task permits {max_attempts}"
    )]
    TooManyAttempts {
        /// Verified attempts.
        attempts: u32,
        /// The maximum.
        max_attempts: u32,
    },
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
    /// The last attempt whose report passed.
    pub passed_attempt: Option<u32>,
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
            passed_attempt: None,
            losses: 0,
            cancel: None,
            completion: None,
            outcome: None,
            review: None,
        }
    }
}

impl LeaseState {
    /// Why a worker's report that the task is verified does not count; `None` if it counts. `claimed_attempts` is the
    /// number of verified attempts that the worker reports.
    pub fn doubt_verified(
        &self,
        claimed_attempts: u32,
        max_attempts: u32,
    ) -> Option<VerdictDoubtError> {
        let attempts = self.reports.max(claimed_attempts);
        if attempts > max_attempts {
            return Some(VerdictDoubtError::TooManyAttempts {
                attempts,
                max_attempts,
            });
        }
        if self.last_attempt == 0 {
            return Some(VerdictDoubtError::NoAttempt);
        }
        (self.passed_attempt != Some(self.last_attempt)).then_some(
            VerdictDoubtError::NoPassingReport {
                attempt: self.last_attempt,
            },
        )
    }

    /// Whether a worker holds it.
    pub fn is_held(&self) -> bool {
        TaskState::HELD.contains(&self.state)
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
