//! What a subtask of a plan begins from: the work of the subtasks before it, wherever they were carried
//! out, judged by the tests that the plan found.

use std::path::Path;

use selvedge_core::model::{PlanMembership, RunSpec, SubtaskTree, Task, TreeId};
use selvedge_engine::workspace::{self, Workspace};

use super::handover::TaskFileList;
use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::{HubClient, HubError};
use crate::settings::REPOSITORY_FILE;

/// A later subtask of a plan, with its workspace as it begins.
pub(super) struct LaterSubtask {
    workspace: Workspace,
    /// The tree that the plan began from; `None` where no snapshot of it was taken.
    plan_start: Option<workspace::SnapshotId>,
}

impl LaterSubtask {
    /// Puts in place what the subtasks before it left. `None` for a task that has none before it.
    pub(super) async fn prepare(
        hub: &HubClient,
        place: &TaskWorkspace,
        ground: &WorkDirs,
        task: &Task,
    ) -> Result<Option<Self>, TaskWorkspaceError> {
        let is_later =
            |part: &&PlanMembership| part.begins_from.is_some() || part.plan_start.is_some();
        let Some(part) = task.part_of.as_ref().filter(is_later) else {
            return Ok(None);
        };
        let Some(workspace) = place
            .open_workspace(ground)
            .map_err(TaskWorkspaceError::Retryable)?
        else {
            return Err(TaskWorkspaceError::Rejected(
                "what the subtasks before it left cannot be put in place outside of a git repository"
                    .to_owned(),
            ));
        };
        // What was uploaded adds to what a fresh clone has.
        let now = tokio::task::block_in_place(|| workspace.snapshot("subtask"));
        let now = now.map_err(retryable_error)?.tree;
        let plan_start = plan_start_tree(part, place, &workspace, now)?;
        if let Some(from) = &part.begins_from {
            for left in &from.left {
                fetch_tree(hub, &workspace, left).await?;
            }
            let tree = parse_tree_id(&from.tree)?;
            let restored = tokio::task::block_in_place(|| workspace.restore(&tree));
            restored.map_err(retryable_error)?;
        }
        Ok(Some(Self {
            workspace,
            plan_start,
        }))
    }

    /// Does something while the repository's settings are those that the plan began with. Blocks.
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
        let tree = self.plan_start.as_ref().filter(|_| spec.snapshots)?;
        Some(TreeId::new(tree.as_str()))
    }
}

/// The tree that the plan began from, as far as it is here. A clone shows the repository as it was before
/// any agent's work; how a folder was only its own snapshots know.
fn plan_start_tree(
    part: &PlanMembership,
    place: &TaskWorkspace,
    workspace: &Workspace,
    now: workspace::SnapshotId,
) -> Result<Option<workspace::SnapshotId>, TaskWorkspaceError> {
    if let Some(tree) = &part.plan_start {
        let tree = parse_tree_id(tree)?;
        let here = tokio::task::block_in_place(|| workspace.contains(&tree));
        if here.unwrap_or(false) {
            return Ok(Some(tree));
        }
        if !place.is_clone() {
            return Err(TaskWorkspaceError::Retryable(format!(
                "only the worker that began the plan knows how {} was before: its checks cannot be told from \
                 what earlier subtasks made of them",
                place.dir.display()
            )));
        }
    }
    Ok(place.is_clone().then_some(now))
}

/// Fetches what a subtask left, unless it is here.
async fn fetch_tree(
    hub: &HubClient,
    workspace: &Workspace,
    left: &SubtaskTree,
) -> Result<(), TaskWorkspaceError> {
    let tree = parse_tree_id(&left.tree)?;
    let here = tokio::task::block_in_place(|| workspace.contains(&tree));
    if here.unwrap_or(false) {
        return Ok(());
    }
    let pack = download_pack(hub, left).await?;
    let unpacked = tokio::task::block_in_place(|| workspace.unpack(pack, &tree));
    unpacked.map_err(retryable_error).map(drop)
}

async fn download_pack(hub: &HubClient, left: &SubtaskTree) -> Result<Vec<u8>, TaskWorkspaceError> {
    let gone = |error: HubError| {
        if error.is_retryable() {
            TaskWorkspaceError::Retryable(error.to_string())
        } else {
            TaskWorkspaceError::Rejected(format!("what subtask {} left: {error}", left.task_id))
        }
    };
    let path = format!("/tasks/{}/files", left.task_id);
    let TaskFileList { files } = hub.get(&path, &[]).await.map_err(gone)?;
    let name = format!("tree/{}", left.tree);
    let Some(file) = files.iter().find(|file| file.name == name) else {
        let why = format!("what subtask {} left is not kept", left.task_id);
        return Err(TaskWorkspaceError::Rejected(why));
    };
    hub.get_bytes(&format!("/blobs/{}", file.hash), &[])
        .await
        .map_err(gone)
}

fn parse_tree_id(tree: &TreeId) -> Result<workspace::SnapshotId, TaskWorkspaceError> {
    workspace::SnapshotId::parse(tree.as_str())
        .map_err(|error| TaskWorkspaceError::Rejected(error.to_string()))
}

fn retryable_error(error: impl std::fmt::Display) -> TaskWorkspaceError {
    TaskWorkspaceError::Retryable(error.to_string())
}
