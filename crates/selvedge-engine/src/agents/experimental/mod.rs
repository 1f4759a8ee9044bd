//! Agents that were never run here, because no package registry has their programs: their records
//! are parsed as their vendors document them, and they are marked as experimental in the user
//! interface. The rules for all programs that print records apply to them too: no success without a
//! record that reports it.

mod amp;
mod copilot;
mod cursor;
mod droid;
mod goose;

#[cfg(test)]
mod tests;

pub use amp::AmpAgent;
pub use copilot::CopilotAgent;
pub use cursor::CursorCliAgent;
pub use droid::DroidAgent;
pub use goose::GooseAgent;

use serde::Deserialize;

use super::jsonl::{self, lenient};

/// An error message, nested as in most of these programs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NestedErrorMessage {
    #[serde(deserialize_with = "lenient")]
    message: String,
}

/// The message of a failed tool, or a default if it is empty.
fn message_or_default(said: &str) -> &str {
    if said.is_empty() { "failed" } else { said }
}
