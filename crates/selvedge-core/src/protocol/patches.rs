//! The names of the patches that workers hand in, and which of them shows what.

use crate::machine::Run;

/// All the work of a task that was done in a clone.
pub const RESULT_PATCH: &str = "result.patch";

/// What one attempt changed.
pub fn attempt_patch(run_number: u32) -> String {
    format!("attempt-{run_number}.patch")
}

/// What stood after an attempt, against the start of the run. There is none where the attempt began from the
/// start: its own patch says the same.
pub fn since_start_patch(run_number: u32) -> String {
    format!("attempt-{run_number}-since-start.patch")
}

/// Which patch shows an attempt's work against the start of the run.
pub fn patch_since_start(run: &Run, run_number: u32) -> String {
    let attempt = run.attempt(run_number);
    let from = attempt.and_then(|attempt| attempt.from_tree.as_ref());
    if from.is_some() && from == run.start_tree.as_ref() {
        attempt_patch(run_number)
    } else {
        since_start_patch(run_number)
    }
}

/// The patches that may show all that a run changed, the best first: a task that was not done in a clone has
/// those of its attempts alone.
pub fn whole_patches(run: &Run) -> Vec<String> {
    let standing = run.current_attempt();
    let standing = standing.map(|attempt| patch_since_start(run, attempt.run_number));
    std::iter::once(RESULT_PATCH.to_owned())
        .chain(standing)
        .collect()
}
