//! Prepares what is submitted at a task's end: the result, a patch of the work, and a branch if requested.

use selvedge_core::model::{DeliveryMode, Outcome};
use selvedge_core::run::Run;
use selvedge_protocol::{RESULT_PATCH, TaskAssign, TaskResult};

use super::entry_sender::Upload;
use super::task_workspace::TaskWorkspace;
use super::uploads::save_for_upload;

/// Builds the result and the patch; commits the work, and pushes it as a branch if requested.
pub(super) fn prepare_result(
    assign: &TaskAssign,
    task_workspace: &TaskWorkspace,
    run: &Run,
) -> (TaskResult, Vec<Upload>) {
    let mut result = TaskResult::from(run.result());
    if !task_workspace.is_clone() || run.attempts.is_empty() {
        return (result, Vec::new());
    }
    let id = assign.lease.task_id;
    let push = assign.task.deliver == Some(DeliveryMode::Branch)
        && matches!(result.outcome, Outcome::Verified | Outcome::Unchecked);
    let message = commit_message(run);
    let files = tokio::task::block_in_place(|| {
        match task_workspace.commit(&assign.task, id, &message) {
            Err(error) => result
                .warnings
                .push(format!("cannot create a patch: {error}")),
            Ok(None) => {}
            Ok(Some((branch_commit, patch))) => {
                if push {
                    match task_workspace.push(&branch_commit) {
                        Ok(()) => {
                            result.branch = Some(branch_commit.branch);
                            result.commit = Some(branch_commit.commit);
                        }
                        Err(error) => result
                            .warnings
                            .push(format!("cannot push the branch: {error}")),
                    }
                }
                return save_for_upload(RESULT_PATCH, &patch, &task_workspace.run_dir())
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
