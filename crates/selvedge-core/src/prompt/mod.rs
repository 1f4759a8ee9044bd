//! Prompts: for an agent, the task verbatim and, from the second attempt on, a correction; feedback for an agent that
//! ran the checks itself; and the prompt of a judge.
//!
//! The correction is a template with one typed input. It is part of the user message, never of the system prompt; it
//! has at most [`CORRECTION_TOKENS`] for any number of attempts and checks; and all output of tools and sessions is in
//! a block that the text cannot close.

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
pub(crate) use untrusted::one_line;

use crate::model::{Prompt, RunSpec};
use crate::run::Run;

/// Prefix of a line with which an agent reports that the task cannot be satisfied.
pub const CANNOT_SATISFY: &str = "CANNOT_SATISFY:";

/// The prompt of the first attempt.
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

/// The prompt of a run's next attempt: with a correction for the last verified attempt. After an interruption before
/// any report, the first prompt again.
pub fn next_prompt(run: &Run) -> Prompt {
    Prompt {
        correction: correction::build_correction(run),
        ..first_prompt(&run.spec)
    }
}

/// The reason, if a session's final text reports that the task cannot be satisfied.
pub fn parse_cannot_satisfy(text: &str) -> Option<&str> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(CANNOT_SATISFY))?;
    Some(line.trim())
}
