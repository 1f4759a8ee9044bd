//! What the agent is told: the task word for word, and from the second attempt on a correction;
//! what one is told that had the checks run itself; and what a judge of its work is told.
//!
//! The correction is a template with one typed input. It goes into the user message, never the
//! system prompt; it stays under [`CORRECTION_TOKENS`] however many attempts and checks there are;
//! and whatever a tool or a session printed stands inside a fence that it cannot close.

mod correction;
mod feedback;
mod judgement;
mod names;
mod untrusted;

#[cfg(test)]
mod tests;

pub use correction::{CORRECTION_TOKENS, PREVIOUS_OUTPUT_CHARS};
pub use feedback::feedback;
pub use judgement::{JudgedWork, judge_prompt};
pub(crate) use untrusted::{clean, one_line};

use crate::machine::Run;
use crate::model::{Prompt, RunSpec};

/// How an agent says that the task cannot be done, at the beginning of a line.
pub const CANNOT_SATISFY: &str = "CANNOT_SATISFY:";

/// What the first attempt is told.
pub fn first_prompt(spec: &RunSpec) -> Prompt {
    let task = match &spec.acceptance_criteria {
        None => spec.description.clone(),
        Some(criteria) => format!("{}\n\nAcceptance criteria:\n{criteria}", spec.description),
    };
    Prompt {
        task,
        correction: None,
    }
}

/// What the next attempt of a run is told: a correction of the last attempt that was verified.
/// After an interruption before any report, the first prompt again.
pub fn next_prompt(run: &Run) -> Prompt {
    Prompt {
        correction: correction::build_correction(run),
        ..first_prompt(&run.spec)
    }
}

/// The reason, if a session's final text says that the task cannot be satisfied.
pub fn parse_cannot_satisfy(text: &str) -> Option<&str> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(CANNOT_SATISFY))?;
    Some(line.trim())
}
