//! The hub's own log of a task, and folding it. An event that was written is never reinterpreted:
//! [`evolve`] does the same with it in every later release.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::LeaseState;
use crate::model::{AttemptEnd, Outcome, ReviewRecord, ReviewTarget};
use crate::protocol::TaskState;

/// Why a worker no longer holds a task that it had not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// It was not renewed in time.
    Expired,
    /// The worker's machinery failed.
    Infrastructure,
    /// The worker is about to stop and hands it back.
    Drained,
    /// The worker cannot take it: its agent or its files are not there.
    Declined,
    /// The worker was started anew and knows nothing of it.
    Forgotten,
}

/// What happened to a task on the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum LeaseEvent {
    /// It was taken in.
    Submitted,
    /// It was given to a worker.
    Granted {
        /// The grant's number.
        epoch: u64,
        /// Whom to.
        worker: String,
    },
    /// The worker did not take it in time.
    OfferExpired,
    /// The worker took it.
    Accepted,
    /// An attempt is about to begin.
    RunBegun {
        /// Its number.
        run_number: u32,
    },
    /// An attempt came to its end.
    RunClosed {
        /// Its number.
        run_number: u32,
        /// How.
        closing: AttemptEnd,
    },
    /// The holder is the holder no more.
    LeaseLost {
        /// Why.
        reason: LossReason,
        /// Whether it counts against the budget for broken machinery.
        charged: bool,
    },
    /// It waits before it may be given out again.
    BackedOff {
        /// How long, in milliseconds.
        pause_ms: i64,
    },
    /// It waits for a worker again.
    Requeued,
    /// A person asked for its end.
    CancelRequested {
        /// Who.
        by: String,
        /// Why, in their words.
        reason: String,
    },
    /// A worker's result counted.
    Completed {
        /// The worker's own id of the completion.
        completion_id: String,
        /// What the worker says of the run.
        outcome: Outcome,
    },
    /// A person judged the work.
    Reviewed {
        /// Who: the name of their token.
        by: String,
        /// The name that the request gave; not verified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stated_by: Option<String>,
        /// The work that was decided on.
        #[serde(flatten)]
        target: ReviewTarget,
        /// Whether the work is right.
        accepted: bool,
        /// Whether another attempt follows.
        retry: bool,
        /// Why, in their words.
        reason: String,
    },
    /// It is over.
    Ended {
        /// As what.
        state: TaskState,
        /// How.
        outcome: Outcome,
    },
}

/// Folds one event into what is known.
#[must_use]
pub fn evolve(mut lease: LeaseState, event: &LeaseEvent) -> LeaseState {
    match event {
        LeaseEvent::Submitted => {}
        LeaseEvent::Granted { epoch, worker } => {
            lease.state = TaskState::Offered;
            lease.epoch = *epoch;
            lease.worker = Some(worker.clone());
        }
        LeaseEvent::OfferExpired | LeaseEvent::Requeued => release(&mut lease, TaskState::Queued),
        LeaseEvent::Accepted => lease.state = TaskState::Running,
        LeaseEvent::RunBegun { run_number } => {
            lease.last_attempt = *run_number;
            lease.open_attempt = Some(*run_number);
            lease.review = None;
        }
        LeaseEvent::RunClosed { closing, .. } => {
            lease.open_attempt = None;
            lease.reports += u32::from(*closing == AttemptEnd::Report);
        }
        LeaseEvent::LeaseLost { charged, .. } => {
            lease.due_at = None;
            lease.losses += u32::from(*charged);
        }
        LeaseEvent::BackedOff { .. } => release(&mut lease, TaskState::Backoff),
        LeaseEvent::CancelRequested { reason, .. } => {
            lease.cancel = Some(reason.clone());
            if lease.state == TaskState::Running {
                lease.state = TaskState::Cancelling;
            }
        }
        LeaseEvent::Completed {
            completion_id,
            outcome,
        } => {
            lease.completion = Some(completion_id.clone());
            if *outcome == Outcome::NeedsReview && lease.cancel.is_none() {
                release(&mut lease, TaskState::NeedsReview);
                lease.outcome = Some(Outcome::NeedsReview);
            }
        }
        LeaseEvent::Reviewed {
            by,
            stated_by,
            target,
            accepted,
            retry,
            reason,
        } => {
            lease.review = Some(ReviewRecord {
                accepted: *accepted,
                by: by.clone(),
                stated_by: stated_by.clone(),
                reason: reason.clone(),
                target: target.clone(),
            });
            if *retry {
                release(&mut lease, TaskState::Queued);
                lease.outcome = None;
                lease.completion = None;
            }
        }
        LeaseEvent::Ended { state, outcome } => {
            release(&mut lease, *state);
            lease.outcome = Some(*outcome);
        }
    }
    lease
}

fn release(lease: &mut LeaseState, state: TaskState) {
    lease.state = state;
    lease.due_at = None;
}
