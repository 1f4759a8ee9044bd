//! States of a task on a hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::Outcome;

/// `queued → offered → running → {succeeded | failed | cancelled | dead}`, with additional waiting states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for a worker.
    Queued,
    /// Offered to a worker that has not accepted yet.
    Offered,
    /// A worker holds it.
    Running,
    /// Delayed after a loss, then queued again.
    Backoff,
    /// A worker holds it and is to cancel it.
    Cancelling,
    /// Awaits review.
    NeedsReview,
    /// Verified, or unchecked as requested.
    Succeeded,
    /// The work did not pass.
    Failed,
    /// Cancelled.
    Cancelled,
    /// The infrastructure failed too often.
    Dead,
}

impl TaskState {
    /// All states.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Offered,
        Self::Running,
        Self::Backoff,
        Self::Cancelling,
        Self::NeedsReview,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Dead,
    ];

    /// The states of a task that a worker holds.
    pub const HELD: [Self; 3] = [Self::Offered, Self::Running, Self::Cancelling];

    /// The state that follows from an outcome; `None` for an interrupted run, which continues.
    pub const fn from_outcome(outcome: Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Verified | Outcome::Unchecked => Self::Succeeded,
            Outcome::MaxRetriesExhausted
            | Outcome::Stuck
            | Outcome::Failed
            | Outcome::CannotSatisfy
            | Outcome::Timeout
            | Outcome::TurnLimit
            | Outcome::Budget
            | Outcome::Unchanged
            | Outcome::Tampered => Self::Failed,
            Outcome::NeedsReview => Self::NeedsReview,
            Outcome::InfraFailed => Self::Dead,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Interrupted => return None,
        })
    }

    /// Whether it is final.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Dead
        )
    }

    /// The wire value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Offered => "offered",
            Self::Running => "running",
            Self::Backoff => "backoff",
            Self::Cancelling => "cancelling",
            Self::NeedsReview => "needs_review",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Dead => "dead",
        }
    }

    /// Parses a wire value.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
