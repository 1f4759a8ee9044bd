//! The input that Claude Code passes to its Stop hook. Only the fields that decisions depend on are parsed.

use std::path::PathBuf;

use serde::Deserialize;

const STOP_EVENT: &str = "Stop";

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
    /// Parses the input; the error is for the user.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let stop: Self = serde_json::from_str(text)
            .map_err(|error| format!("invalid input for a Stop hook of Claude Code: {error}"))?;
        if stop.session_id.is_empty() {
            return Err("`session_id` is empty".to_owned());
        }
        match stop.hook_event_name.as_deref() {
            None | Some(STOP_EVENT) => Ok(stop),
            Some(event) => Err(format!(
                "unsupported event `{event}`: configure the hook for `{STOP_EVENT}`"
            )),
        }
    }
}
