//! Prepares the workspace of a plan's later subtask: the work of the subtasks before it, from whatever worker, judged
//! by the tests that existed before the plan.

use std::path::Path;

use selvedge_core::model::{PlanMembership, RunSpec, SubtaskTree, Task, TreeId};
use selvedge_engine::workspace::Workspace;

use super::handover::TaskFileList;
use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::{HubClient, HubError};
use crate::settings::REPOSITORY_FILE;

/// A later subtask with its prepared workspace.
pub(super) struct LaterSubtask {
    workspace: Workspace,
    /// The tree that the plan began from; `None` if it is not available.
    plan_start: Option<TreeId>,
}

impl LaterSubtask {
    /// Restores the work of earlier subtasks. `None` if the task has none before it.
    pub(super) async fn prepare(
        hub: &HubClient,
        task_workspace: &TaskWorkspace,
        work_dirs: &WorkDirs,
        task: &Task,
    ) -> Result<Option<Self>, TaskWorkspaceError> {
        let is_later =
            |part: &&PlanMembership| part.begins_from.is_some() || part.plan_start.is_some();
        let Some(part) = task.part_of.as_ref().filter(is_later) else {
            return Ok(None);
        };
        let Some(workspace) = task_workspace
            .open_workspace(work_dirs)
            .map_err(retryable_error)?
        else {
            return Err(TaskWorkspaceError::Rejected(
                "the trees of earlier subtasks can only be restored in a git repository".to_owned(),
            ));
        };
        // Uploaded packs contain only what a fresh clone does not have.
        let now = tokio::task::block_in_place(|| workspace.snapshot("subtask"));
        let now = now.map_err(retryable_error)?.tree;
        let plan_start = plan_start_tree(part, task_workspace, &workspace, now)?;
        if let Some(from) = &part.begins_from {
            for subtask_tree in &from.left {
                fetch_tree(hub, &workspace, subtask_tree).await?;
            }
            let restored = tokio::task::block_in_place(|| workspace.restore(&from.tree));
            restored.map_err(retryable_error)?;
        }
        Ok(Some(Self {
            workspace,
            plan_start,
        }))
    }

    /// Runs `work` while the repository's settings are those from before the plan. Blocks.
    pub(super) fn with_plan_settings<T>(
        &self,
        work: impl FnOnce() -> T,
    ) -> Result<T, TaskWorkspaceError> {
        let Some(plan_start) = &self.plan_start else {
            return Ok(work());
        };
        let is_settings = |path: &Path| path == Path::new(REPOSITORY_FILE);
        let now = self
            .workspace
            .snapshot("settings")
            .map_err(retryable_error)?
            .tree;
        let changed = self.workspace.compare_files(plan_start, &now, is_settings);
        if changed.map_err(retryable_error)?.is_empty() {
            return Ok(work());
        }
        let settings = [REPOSITORY_FILE.into()];
        self.workspace
            .restore_files(plan_start, &settings)
            .map_err(retryable_error)?;
        let done = work();
        self.workspace
            .restore_files(&now, &settings)
            .map_err(retryable_error)?;
        Ok(done)
    }

    /// The tree whose tests judge this subtask's work.
    pub(super) fn test_base(&self, spec: &RunSpec) -> Option<TreeId> {
        self.plan_start.clone().filter(|_| spec.snapshots)
    }
}

/// The tree that the plan began from, if it is available. A fresh clone contains the repository before any agent's
/// work; the original state of a folder is known only from its own snapshots.
fn plan_start_tree(
    part: &PlanMembership,
    task_workspace: &TaskWorkspace,
    workspace: &Workspace,
    now: TreeId,
) -> Result<Option<TreeId>, TaskWorkspaceError> {
    if let Some(tree) = &part.plan_start {
        let is_present = tokio::task::block_in_place(|| workspace.contains(tree));
        if is_present.unwrap_or(false) {
            return Ok(Some(tree.clone()));
        }
        if !task_workspace.is_clone() {
            return Err(TaskWorkspaceError::Retryable(format!(
                "only the worker that started the plan has the original state of {}: changes of checks by \
                 earlier subtasks cannot be detected",
                task_workspace.dir.display()
            )));
        }
    }
    Ok(task_workspace.is_clone().then_some(now))
}

/// Fetches a subtask's tree, unless this machine has it.
async fn fetch_tree(
    hub: &HubClient,
    workspace: &Workspace,
    subtask_tree: &SubtaskTree,
) -> Result<(), TaskWorkspaceError> {
    let tree = &subtask_tree.tree;
    let is_present = tokio::task::block_in_place(|| workspace.contains(tree));
    if is_present.unwrap_or(false) {
        return Ok(());
    }
    let pack = download_pack(hub, subtask_tree).await?;
    let unpacked = tokio::task::block_in_place(|| workspace.unpack(pack, tree));
    unpacked.map_err(retryable_error).map(drop)
}

async fn download_pack(
    hub: &HubClient,
    subtask_tree: &SubtaskTree,
) -> Result<Vec<u8>, TaskWorkspaceError> {
    let download_error = |error: HubError| {
        if error.is_retryable() {
            TaskWorkspaceError::Retryable(error.to_string())
        } else {
            TaskWorkspaceError::Rejected(format!(
                "cannot fetch the tree of subtask {}: {error}",
                subtask_tree.task_id
            ))
        }
    };
    let path = format!("/tasks/{}/files", subtask_tree.task_id);
    let TaskFileList { files } = hub.get(&path, &[]).await.map_err(download_error)?;
    let name = format!("tree/{}", subtask_tree.tree);
    let Some(file) = files.iter().find(|file| file.name == name) else {
        let why = format!(
            "the tree of subtask {} is no longer stored",
            subtask_tree.task_id
        );
        return Err(TaskWorkspaceError::Rejected(why));
    };
    hub.get_bytes(&format!("/blobs/{}", file.hash), &[])
        .await
        .map_err(download_error)
}

fn retryable_error(error: impl std::fmt::Display) -> TaskWorkspaceError {
    TaskWorkspaceError::Retryable(error.to_string())
}
