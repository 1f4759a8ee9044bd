//! The hub's own log of a task, and how it is folded. A written event is never reinterpreted: [`evolve`] treats it the
//! same in every later release.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::LeaseState;
use crate::TaskState;
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord};

/// Why a worker lost a task that it had not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// It was not renewed in time.
    Expired,
    /// The worker's infrastructure failed.
    Infrastructure,
    /// The worker is shutting down and releases it.
    Drained,
    /// The worker cannot run it: its agent or its files are missing.
    Declined,
    /// The worker was restarted and has no record of it.
    Forgotten,
}

/// An event of a task on the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum LeaseEvent {
    /// It was submitted.
    Submitted,
    /// It was assigned to a worker.
    Granted {
        /// The number of the assignment.
        epoch: u64,
        /// The worker.
        worker: String,
    },
    /// The worker did not accept it in time.
    OfferExpired,
    /// The worker accepted it.
    Accepted,
    /// An attempt is about to begin.
    RunBegun {
        /// Its number.
        #[serde(rename = "run_number")]
        attempt_number: u32,
    },
    /// An attempt ended.
    RunClosed {
        /// Its number.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// How it ended.
        closing: AttemptEnd,
        /// Whether its report passed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passed: bool,
    },
    /// The holder lost the lease.
    LeaseLost {
        /// The reason.
        reason: LossReason,
        /// Whether it counts against the limit of infrastructure failures.
        charged: bool,
    },
    /// It is delayed before it can be assigned again.
    BackedOff {
        /// The delay, in milliseconds.
        pause_ms: i64,
    },
    /// It is in the queue again.
    Requeued,
    /// A person requested its cancellation.
    CancelRequested {
        /// That person.
        by: String,
        /// The reason that they gave.
        reason: String,
    },
    /// A worker's result was accepted.
    Completed {
        /// The worker's own id of the completion.
        completion_id: String,
        /// The outcome that the worker reports.
        outcome: Outcome,
    },
    /// A person reviewed the work.
    Reviewed {
        /// The decision.
        #[serde(flatten)]
        record: ReviewRecord,
        /// Whether another attempt follows.
        retry: bool,
    },
    /// The task ended.
    Ended {
        /// Its final state.
        state: TaskState,
        /// Its outcome.
        outcome: Outcome,
    },
}

/// Folds one event into the state.
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
        LeaseEvent::RunBegun { attempt_number } => {
            lease.last_attempt = *attempt_number;
            lease.open_attempt = Some(*attempt_number);
            lease.review = None;
        }
        LeaseEvent::RunClosed {
            attempt_number,
            closing,
            passed,
        } => {
            lease.open_attempt = None;
            lease.reports += u32::from(*closing == AttemptEnd::Report);
            if *passed {
                lease.passed_attempt = Some(*attempt_number);
            }
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
        LeaseEvent::Reviewed { record, retry } => {
            lease.review = Some(record.clone());
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
