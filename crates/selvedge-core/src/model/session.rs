//! What one agent session came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::money::{Cost, MicroUsd, Usage};
use super::processes::Processes;
use super::report::OutputRef;

/// How the session ended, as the agent's own records and our two clocks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// The agent ended its work and reports no error. Whether the work is right is not its to say.
    Success,
    /// The agent ended with an error.
    Failed,
    /// The wall clock ran out, or the session was silent for too long.
    Timeout,
    /// The agent's turn limit was reached.
    TurnLimit,
    /// The session's own cap on cost was reached.
    Budget,
    /// The agent says that the task cannot be satisfied.
    CannotSatisfy,
    /// The machinery failed: it could not be spawned, the disk is full, the supervisor was lost.
    Infra,
    /// Ended from outside: cancelled or suspended.
    Cancelled,
}

/// One session's account of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOutcome {
    /// How it ended.
    pub status: SessionStatus,
    /// The agent's final text (its claim; nothing here makes it true). Bounded by the executor.
    #[serde(default)]
    pub text: String,
    /// Why it did not succeed, in one or two lines; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The model that answered, as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens over the whole session, side calls included where they are told.
    #[serde(default)]
    pub usage: Usage,
    /// What it cost.
    #[serde(default)]
    pub cost: Cost,
    /// What the same tokens would have cost on the reference Claude model (for local models).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalent_claude_cost: Option<MicroUsd>,
    /// The agent's own name for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Model turns, where told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tool calls made.
    #[serde(default)]
    pub tool_calls: u32,
    /// Tool calls that failed.
    #[serde(default)]
    pub tool_errors: u32,
    /// Retries of the model's API inside the executor. They are never verification retries.
    #[serde(default)]
    pub api_retries: u32,
    /// Records of the agent's output that were not understood; kept in the transcript.
    #[serde(default)]
    pub unknown_records: u32,
    /// Wall time of the session in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// What became of its processes; absent where it started none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Processes>,
    /// The full transcript on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<OutputRef>,
}

impl SessionOutcome {
    /// An outcome with a status and nothing else known.
    pub fn new(status: SessionStatus) -> Self {
        Self {
            status,
            text: String::new(),
            error: None,
            model: None,
            usage: Usage::default(),
            cost: Cost::UNKNOWN,
            equivalent_claude_cost: None,
            session_id: None,
            turns: None,
            tool_calls: 0,
            tool_errors: 0,
            api_retries: 0,
            unknown_records: 0,
            duration_ms: 0,
            processes: None,
            transcript: None,
        }
    }

    /// An outcome that did not succeed, and why.
    pub fn failed(status: SessionStatus, error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::new(status)
        }
    }
}
