//! Agents that were never run here, for no registry has their programs: read as their makers document
//! their records, and marked as experimental wherever people meet them. What holds for every program
//! that prints records holds for them too: no success without a record that says so.

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

/// An error with its message, as most of them nest it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NestedErrorMessage {
    #[serde(deserialize_with = "lenient")]
    message: String,
}

/// Why a tool failed, where it says nothing.
fn message_or_default(said: &str) -> &str {
    if said.is_empty() { "failed" } else { said }
}
