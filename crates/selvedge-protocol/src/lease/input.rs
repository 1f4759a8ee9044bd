//! Inputs of a lease, decisions and errors.

use super::event::{LeaseEvent, LossReason};
use super::state::LeaseState;
use crate::{LeaseToken, ReviewDecision, TaskState};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord};

/// Inputs from workers (with a credential), from people, and from the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseInput {
    /// The hub assigns it to a worker.
    Grant {
        /// The worker's name.
        worker: String,
        /// Fresh and random.
        token: String,
    },
    /// The worker accepts it.
    Accept(LeaseToken),
    /// The worker is alive and working on it.
    Renew(LeaseToken),
    /// An attempt is about to begin.
    BeginAttempt(LeaseToken, u32),
    /// An attempt has a report, or ended in another way.
    CloseAttempt {
        /// The sender's credential.
        token: LeaseToken,
        /// The attempt.
        attempt_number: u32,
        /// How it ended.
        end: AttemptEnd,
        /// Whether its report passed.
        passed: bool,
        /// Whether exactly this was stored before (`Some(true)`), or something different (`Some(false)`). `None` for a
        /// run that was closed as interrupted: there is nothing that a report could contradict.
        stored: Option<bool>,
    },
    /// The run ended.
    Complete {
        /// The sender's credential.
        token: LeaseToken,
        /// The worker's own id of this completion: a repetition gets the same response.
        completion_id: String,
        /// The outcome.
        outcome: Outcome,
    },
    /// The worker releases it.
    Release(LeaseToken, LossReason),
    /// Time passed.
    Tick,
    /// A person requests its cancellation.
    Cancel {
        /// That person.
        by: String,
        /// The reason.
        reason: String,
    },
    /// A person reviews the work.
    Review {
        /// Their decision.
        decision: ReviewDecision,
        /// The epoch under which the reviewed work was submitted.
        epoch: u64,
        /// The reviewer, the reason, and the reviewed work.
        record: ReviewRecord,
    },
}

/// The effect of an accepted input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputDisposition {
    /// It was applied, for the first time.
    Applied,
    /// It was applied before; nothing changed.
    Duplicate,
    /// It is not applied: the task had a pending cancellation, and has now ended.
    TaskOver,
}

/// Why an input is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The credential is not the holder's: the task was assigned again, or has ended.
    #[error("the lease is no longer held: the current epoch is {epoch}")]
    Stale {
        /// The latest epoch.
        epoch: u64,
    },
    /// Not the next run number.
    #[error("unexpected run number; expected {expected}")]
    OutOfOrder {
        /// The next number, or the open one.
        expected: u32,
    },
    /// It was reported before, with different content.
    #[error("run number {attempt_number} is closed, with different content")]
    Conflict {
        /// The run.
        attempt_number: u32,
    },
    /// Nothing of the task is awaiting review.
    #[error("the task is not awaiting review: it is {}", .0.as_str())]
    NotAwaitingReview(TaskState),
    /// Different work awaits review than the reviewed one.
    #[error(
        "the task changed while it was being reviewed: attempt {current} is awaiting review now"
    )]
    OtherAttempt {
        /// The attempt that is awaiting review.
        current: u32,
    },
    /// The task's state does not permit this input.
    #[error("not allowed while the task is {}", .0.as_str())]
    WrongState(TaskState),
}

/// The result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct LeaseDecision {
    /// Events for the log, in order; empty if only the lease's expiry changes.
    pub events: Vec<LeaseEvent>,
    /// The state after them.
    pub lease: LeaseState,
    /// The answer to the sender.
    pub disposition: InputDisposition,
}
