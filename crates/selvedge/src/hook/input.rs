//! The input that Claude Code passes to its Stop hook. Only the fields that decisions depend on are parsed.

use std::path::PathBuf;

use serde::Deserialize;

const STOP_EVENT: &str = "Stop";

/// Why the input cannot be used, for the user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StopHookInputError {
    #[error("invalid input for a Stop hook of Claude Code: {0}")]
    Invalid(#[from] serde_json::Error),
    #[error("`session_id` is empty")]
    EmptySessionId,
    #[error("unsupported event `{0}`: configure the hook for `{STOP_EVENT}`")]
    UnsupportedEvent(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct StopHookInput {
    /// The agent's id of the session.
    pub(crate) session_id: String,
    /// The session's working directory.
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    /// Whether the agent is still working because a hook blocked it before.
    #[serde(default, rename = "stop_hook_active")]
    pub(crate) was_blocked_before: bool,
    #[serde(default)]
    hook_event_name: Option<String>,
}

impl StopHookInput {
    pub(crate) fn parse(text: &str) -> Result<Self, StopHookInputError> {
        let stop: Self = serde_json::from_str(text)?;
        if stop.session_id.is_empty() {
            return Err(StopHookInputError::EmptySessionId);
        }
        match stop.hook_event_name.as_deref() {
            None | Some(STOP_EVENT) => Ok(stop),
            Some(event) => Err(StopHookInputError::UnsupportedEvent(event.to_owned())),
        }
    }
}
