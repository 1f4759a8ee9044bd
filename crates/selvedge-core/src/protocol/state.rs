//! Where a task stands on a hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Outcome;

/// `queued → offered → running → {succeeded | failed | cancelled | dead}`, with waiting states beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for a worker.
    Queued,
    /// A worker was asked, and has not accepted yet.
    Offered,
    /// A worker holds it.
    Running,
    /// Waits for a while after a loss, then is queued again.
    Backoff,
    /// A worker holds it and was told to stop for good.
    Cancelling,
    /// Waits for a person.
    NeedsReview,
    /// Verified, or unchecked as was wished.
    Succeeded,
    /// The work did not pass.
    Failed,
    /// Stopped for good.
    Cancelled,
    /// The machinery failed too often.
    Dead,
}

impl TaskState {
    /// All of them.
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

    /// The state that an outcome leads to; none for a run that was interrupted, which goes on.
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

    /// Whether it never changes again.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Dead
        )
    }

    /// The value as it stands on the wire.
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

    /// The state of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
