//! What is handed in at a task's end: its result, the work as a patch, and as a branch where that is wanted.

use selvedge_core::machine::Run;
use selvedge_core::model::{DeliveryMode, Outcome};
use selvedge_core::protocol::{RESULT_PATCH, TaskAssign, TaskResult};

use super::entry_sender::Upload;
use super::task_workspace::TaskWorkspace;
use super::uploads::save_for_upload;

/// The result, with what was made as a patch, and as a branch where that is wanted.
pub(super) fn prepare_result(
    assign: &TaskAssign,
    place: &TaskWorkspace,
    run: &Run,
) -> (TaskResult, Vec<Upload>) {
    let mut result = TaskResult::from(run.result());
    if !place.is_clone() || run.attempts.is_empty() {
        return (result, Vec::new());
    }
    let id = assign.lease.task_id;
    let push = assign.task.deliver == Some(DeliveryMode::Branch)
        && matches!(result.outcome, Outcome::Verified | Outcome::Unchecked);
    let message = commit_message(run);
    let files = tokio::task::block_in_place(|| {
        match place.commit(&assign.task, id, &message) {
            Err(error) => result.warnings.push(format!("there is no patch: {error}")),
            Ok(None) => {}
            Ok(Some((made, patch))) => {
                if push {
                    match place.push(&made) {
                        Ok(()) => {
                            result.branch = Some(made.branch);
                            result.commit = Some(made.commit);
                        }
                        Err(error) => result
                            .warnings
                            .push(format!("the branch could not be pushed: {error}")),
                    }
                }
                return save_for_upload(RESULT_PATCH, &patch, &place.run_dir())
                    .into_iter()
                    .collect();
            }
        }
        Vec::new()
    });
    (result, files)
}

fn commit_message(run: &Run) -> String {
    let lines = run.spec.description.lines().map(str::trim);
    let title = lines.into_iter().find(|line| !line.is_empty());
    let title: String = title.unwrap_or("Work").chars().take(72).collect();
    let (outcome, reason) = run.conclusion();
    format!("{title}\n\n{}: {reason}\n", outcome.as_str())
}
