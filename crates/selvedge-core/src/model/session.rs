//! The outcome of one agent session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::excluded::ExcludedContent;
use super::money::{Cost, MicroUsd, Usage};
use super::processes::ProcessCleanup;
use super::report::OutputRef;
use super::sandbox::SandboxReport;
use super::usage_limit::UsageLimit;

/// How the session ended, according to the agent's own records and our two timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// The agent finished without an error. This does not imply that the work is correct.
    Success,
    /// The agent ended with an error.
    Failed,
    /// The time limit was reached, or the session had no output for too long.
    Timeout,
    /// The agent's turn limit was reached.
    TurnLimit,
    /// The session's own limit on cost was reached.
    Budget,
    /// The agent reports that the task cannot be satisfied.
    CannotSatisfy,
    /// The infrastructure failed: the agent could not be spawned, the disk is full, the supervisor was lost.
    Infra,
    /// Ended from outside: cancelled or suspended.
    Cancelled,
}

/// One tool call, from the agent's own records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The object of the call, in a few words: a path, a command line.
    pub subject: String,
    /// The file to be written, if the tool writes files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
    /// The tool's error message; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the same file was written afterwards.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redone: bool,
    /// When it was called, in milliseconds since the session's first record; absent if the agent reports calls only at
    /// the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
    /// Elapsed time in milliseconds between the records of the call and of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl ToolCall {
    /// Maximum number of calls that are kept per session.
    pub const MAX_KEPT: usize = 100;

    /// Whether it failed to write a file, and no later call wrote it.
    pub fn is_unresolved_write(&self) -> bool {
        self.writes.is_some() && self.error.is_some() && !self.redone
    }

    /// Adds a call to those of a session. A successful write marks earlier calls for the same file as redone; if there
    /// are too many calls, the oldest are dropped, except unresolved writes.
    pub fn add(self, calls: &mut Vec<Self>) {
        if self.error.is_none() && self.writes.is_some() {
            let before = calls.iter_mut().filter(|call| call.writes == self.writes);
            before
                .filter(|call| call.error.is_some())
                .for_each(|call| call.redone = true);
        }
        calls.push(self);
        if calls.len() > Self::MAX_KEPT {
            let old = calls.iter().position(|call| !call.is_unresolved_write());
            calls.remove(old.unwrap_or(0));
        }
    }
}

/// The outcome of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOutcome {
    /// How it ended.
    pub status: SessionStatus,
    /// The agent's final text: its own claim, not verified. Bounded by the executor.
    #[serde(default)]
    pub text: String,
    /// Why it failed, in one or two lines; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The limit of the agent's subscription that ended it, if it failed for that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_limit: Option<UsageLimit>,
    /// The model that answered, by the agent's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of the whole session, including side calls if they are reported.
    #[serde(default)]
    pub usage: Usage,
    /// Cost.
    #[serde(default)]
    pub cost: Cost,
    /// The cost of the same tokens on the reference Claude model (for local models).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalent_claude_cost: Option<MicroUsd>,
    /// The agent's own id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Model turns, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tool calls made.
    #[serde(default)]
    pub tool_calls: u32,
    /// Tool calls that failed.
    #[serde(default)]
    pub tool_errors: u32,
    /// The completed calls in order: the last [`ToolCall::MAX_KEPT`], and earlier ones with unresolved writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Retries of the model's API inside the executor. They are never verification retries.
    #[serde(default)]
    pub api_retries: u32,
    /// Records of the agent's output that were not understood; kept in the transcript.
    #[serde(default)]
    pub unknown_records: u32,
    /// Elapsed time of the session in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The cleanup of its processes; absent if it started none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessCleanup>,
    /// Its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxReport>,
    /// The full transcript on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<OutputRef>,
    /// Files excluded from snapshots that were deleted or emptied since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_unkept: Option<Box<ExcludedContent>>,
}

impl SessionOutcome {
    /// Creates an outcome with a status and nothing else.
    pub fn new(status: SessionStatus) -> Self {
        Self {
            status,
            text: String::new(),
            error: None,
            usage_limit: None,
            model: None,
            usage: Usage::default(),
            cost: Cost::UNKNOWN,
            equivalent_claude_cost: None,
            session_id: None,
            turns: None,
            tool_calls: 0,
            tool_errors: 0,
            calls: Vec::new(),
            api_retries: 0,
            unknown_records: 0,
            duration_ms: 0,
            processes: None,
            sandbox: None,
            transcript: None,
            deleted_unkept: None,
        }
    }

    /// Creates an outcome of a failed session, with the reason.
    pub fn failed(status: SessionStatus, error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::new(status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, writes: Option<&str>, error: Option<&str>) -> ToolCall {
        ToolCall {
            name: name.to_owned(),
            writes: writes.map(str::to_owned),
            error: error.map(str::to_owned),
            ..ToolCall::default()
        }
    }

    #[test]
    fn failed_write_is_resolved_by_later_success() {
        let mut calls = Vec::new();
        call("Edit", Some("a"), Some("no such text")).add(&mut calls);
        call("Edit", Some("b"), Some("no such text")).add(&mut calls);
        call("Bash", None, Some("exited with 1")).add(&mut calls);
        call("Write", Some("a"), None).add(&mut calls);
        let undone: Vec<_> = calls.iter().map(ToolCall::is_unresolved_write).collect();
        assert_eq!(undone, [false, true, false, false]);
        call("Edit", Some("a"), Some("no such text")).add(&mut calls);
        assert!(
            calls.last().is_some_and(ToolCall::is_unresolved_write),
            "it failed afterwards"
        );
    }

    #[test]
    fn tool_calls_keep_unresolved_ones() {
        let mut calls = Vec::new();
        call("Edit", Some("a"), Some("no such text")).add(&mut calls);
        for _ in 0..3 * ToolCall::MAX_KEPT {
            call("Read", None, None).add(&mut calls);
        }
        assert_eq!(calls.len(), ToolCall::MAX_KEPT);
        assert!(calls[0].is_unresolved_write());
    }
}
