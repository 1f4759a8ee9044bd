//! The names of the patches that workers upload, and the selection of the right one.

use selvedge_core::run::Run;

/// The complete work of a task that ran in a clone.
pub const RESULT_PATCH: &str = "result.patch";

/// The changes of one attempt.
pub fn attempt_patch(attempt_number: u32) -> String {
    format!("attempt-{attempt_number}.patch")
}

/// The state after an attempt, compared with the start of the run. It does not exist if the attempt began from the
/// start: its own patch is then the same.
pub fn since_start_patch(attempt_number: u32) -> String {
    format!("attempt-{attempt_number}-since-start.patch")
}

/// The patch of an attempt's work compared with the start of the run.
pub fn patch_since_start(run: &Run, attempt_number: u32) -> String {
    let attempt = run.attempt(attempt_number);
    let from = attempt.and_then(|attempt| attempt.from_tree.as_ref());
    if from.is_some() && from == run.start_tree.as_ref() {
        attempt_patch(attempt_number)
    } else {
        since_start_patch(attempt_number)
    }
}

/// The patches that may have all changes of a run, the best first: a task that did not run in a clone only has those of
/// its attempts.
pub fn whole_patches(run: &Run) -> Vec<String> {
    let current = run.current_attempt();
    let current = current.map(|attempt| patch_since_start(run, attempt.attempt_number));
    std::iter::once(RESULT_PATCH.to_owned())
        .chain(current)
        .collect()
}
