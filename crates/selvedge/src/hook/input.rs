//! What Claude Code says when its agent is about to stop. Lenient: of all its fields only those are
//! read that a decision rests on.

use std::path::PathBuf;

use serde::Deserialize;

/// The event that the hook is for.
const STOP_EVENT: &str = "Stop";

/// The hook's input.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct StopHookInput {
    /// The session, by the agent's own name.
    pub(crate) session_id: String,
    /// Where the session is at work.
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    /// Whether the agent goes on because a hook held it back already.
    #[serde(default, rename = "stop_hook_active")]
    pub(crate) was_blocked_before: bool,
    #[serde(default)]
    hook_event_name: Option<String>,
}

impl StopHookInput {
    /// Reads the input, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let stop: Self = serde_json::from_str(text).map_err(|error| {
            format!("this is not what Claude Code tells its Stop hook: {error}")
        })?;
        if stop.session_id.is_empty() {
            return Err("the session has no name: `session_id` is empty".to_owned());
        }
        match stop.hook_event_name.as_deref() {
            None | Some(STOP_EVENT) => Ok(stop),
            Some(event) => Err(format!(
                "set up for the event `{event}`: this hook is for `{STOP_EVENT}`"
            )),
        }
    }
}
