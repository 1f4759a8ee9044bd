//! What a lease is asked, and what it answers: inputs, decisions, refusals.

use super::event::{LeaseEvent, LossReason};
use super::state::{LeaseCredential, LeaseState};
use crate::model::{AttemptEnd, Outcome, ReviewRecord};
use crate::protocol::TaskState;

/// What a person says of work that waits for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAction {
    /// The work is right.
    Accept,
    /// It is not.
    Reject,
    /// It is not, and another attempt is to be made with the reason as feedback.
    Retry,
}

/// What arrives: from workers (with a fence), from people, from the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseInput {
    /// The hub gives it to a worker.
    Grant {
        /// The worker's name.
        worker: String,
        /// Fresh and random.
        token: String,
    },
    /// The worker takes it.
    Accept(LeaseCredential),
    /// The worker is alive and at it.
    Renew(LeaseCredential),
    /// An attempt is about to begin.
    BeginAttempt(LeaseCredential, u32),
    /// An attempt came to a report, or to another end.
    CloseAttempt {
        /// Who says so.
        fence: LeaseCredential,
        /// The attempt.
        run_number: u32,
        /// How it ended.
        end: AttemptEnd,
        /// Whether exactly this was stored before (`Some(true)`), or something else (`Some(false)`). A run
        /// that was closed as interrupted has nothing that a report could contradict: `None`.
        stored: Option<bool>,
    },
    /// The run ended.
    Complete {
        /// Who says so.
        fence: LeaseCredential,
        /// The worker's own id of this completion: the same one again gets the same answer.
        completion_id: String,
        /// How.
        outcome: Outcome,
    },
    /// The worker hands it back.
    Release(LeaseCredential, LossReason),
    /// Time passed.
    Tick,
    /// A person asks for its end.
    Cancel {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// A person judges the work.
    Review {
        /// What they decide.
        review: ReviewAction,
        /// Under which grant the work was handed in that they decided on.
        epoch: u64,
        /// Who they are, why, and the work that they decided on.
        record: ReviewRecord,
    },
}

/// What an accepted input did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputDisposition {
    /// It counts, for the first time.
    Applied,
    /// It counted before; nothing changed.
    Duplicate,
    /// It does not count: the task was to be cancelled, and is over now.
    TaskOver,
}

/// Why an input does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The fence is not the holder's: another grant was made, or the task is over.
    #[error("the lease is no longer held: epoch {epoch} counts")]
    Stale {
        /// The latest epoch.
        epoch: u64,
    },
    /// Not the next run number.
    #[error("not the next run number, which is {expected}")]
    OutOfOrder {
        /// The next one, or the open one.
        expected: u32,
    },
    /// It was told before, with other content.
    #[error("run {run_number} is closed, with other content")]
    Conflict {
        /// Which run.
        run_number: u32,
    },
    /// Nothing of the task is awaiting review.
    #[error("the task is not awaiting review: it is {}", .0.as_str())]
    NotAwaitingReview(TaskState),
    /// Other work is awaiting review than what was decided on.
    #[error(
        "the task went on while it was being reviewed: attempt {current} is awaiting review now"
    )]
    OtherAttempt {
        /// The attempt that is awaiting review.
        current: u32,
    },
    /// The task is not in a state in which this can be asked.
    #[error("not while the task is {}", .0.as_str())]
    WrongState(TaskState),
}

/// What follows from an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct LeaseDecision {
    /// For the log, in order; none when nothing changes but the time that the lease lasts.
    pub events: Vec<LeaseEvent>,
    /// The state after them.
    pub lease: LeaseState,
    /// For whoever asked.
    pub disposition: InputDisposition,
}
