//! What a subtask of a plan begins from: the work of the subtasks before it, wherever they were carried
//! out, judged by the tests that the plan found.

use std::path::Path;

use selvedge_core::model::{LeftTree, RunSpec, Task, TaskPart, TreeId};
use selvedge_engine::workspace::{self, Workspace};

use super::place::{Ground, NoPlace, Place};
use super::takeover::FilePage;
use crate::fleet::{Hub, HubError};
use crate::settings::REPOSITORY_FILE;

/// A later subtask of a plan, with its workspace as it begins.
pub(super) struct LaterSubtask {
    workspace: Workspace,
    /// The tree that the plan began from; `None` where no snapshot of it was taken.
    plan_start: Option<workspace::TreeId>,
}

impl LaterSubtask {
    /// Puts in place what the subtasks before it left. `None` for a task that has none before it.
    pub(super) async fn put_in_place(
        hub: &Hub,
        place: &Place,
        ground: &Ground,
        task: &Task,
    ) -> Result<Option<Self>, NoPlace> {
        let is_later = |part: &&TaskPart| part.begins_from.is_some() || part.plan_start.is_some();
        let Some(part) = task.part_of.as_ref().filter(is_later) else {
            return Ok(None);
        };
        let Some(workspace) = place.workspace(ground).map_err(NoPlace::NotNow)? else {
            return Err(NoPlace::Refused(
                "what the subtasks before it left cannot be put in place outside of a git repository"
                    .to_owned(),
            ));
        };
        // What was uploaded adds to what a fresh clone has.
        let now = tokio::task::block_in_place(|| workspace.snapshot("subtask"));
        let now = now.map_err(not_now)?.tree;
        let plan_start = plan_start(part, place, &workspace, now)?;
        if let Some(from) = &part.begins_from {
            for left in &from.left {
                fetch(hub, &workspace, left).await?;
            }
            let tree = parsed(&from.tree)?;
            let restored = tokio::task::block_in_place(|| workspace.restore(&tree));
            restored.map_err(not_now)?;
        }
        Ok(Some(Self {
            workspace,
            plan_start,
        }))
    }

    /// Does something while the repository's settings are those that the plan began with. Blocks.
    pub(super) fn with_settings_of_plan<T>(&self, work: impl FnOnce() -> T) -> Result<T, NoPlace> {
        let Some(plan_start) = &self.plan_start else {
            return Ok(work());
        };
        let is_settings = |path: &Path| path == Path::new(REPOSITORY_FILE);
        let now = self.workspace.snapshot("settings").map_err(not_now)?.tree;
        let changed = self.workspace.compare_files(plan_start, &now, is_settings);
        if changed.map_err(not_now)?.is_empty() {
            return Ok(work());
        }
        let settings = [REPOSITORY_FILE.into()];
        self.workspace
            .put_back(plan_start, &settings)
            .map_err(not_now)?;
        let done = work();
        self.workspace.put_back(&now, &settings).map_err(not_now)?;
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
fn plan_start(
    part: &TaskPart,
    place: &Place,
    workspace: &Workspace,
    now: workspace::TreeId,
) -> Result<Option<workspace::TreeId>, NoPlace> {
    if let Some(tree) = &part.plan_start {
        let tree = parsed(tree)?;
        let here = tokio::task::block_in_place(|| workspace.contains(&tree));
        if here.unwrap_or(false) {
            return Ok(Some(tree));
        }
        if !place.is_clone() {
            return Err(NoPlace::NotNow(format!(
                "only the worker that began the plan knows how {} was before: its checks cannot be told from \
                 what earlier subtasks made of them",
                place.dir.display()
            )));
        }
    }
    Ok(place.is_clone().then_some(now))
}

/// Fetches what a subtask left, unless it is here.
async fn fetch(hub: &Hub, workspace: &Workspace, left: &LeftTree) -> Result<(), NoPlace> {
    let tree = parsed(&left.tree)?;
    let here = tokio::task::block_in_place(|| workspace.contains(&tree));
    if here.unwrap_or(false) {
        return Ok(());
    }
    let pack = pack_of(hub, left).await?;
    let unpacked = tokio::task::block_in_place(|| workspace.unpack(pack, &tree));
    unpacked.map_err(not_now).map(drop)
}

async fn pack_of(hub: &Hub, left: &LeftTree) -> Result<Vec<u8>, NoPlace> {
    let gone = |error: HubError| {
        if error.passes() {
            NoPlace::NotNow(error.to_string())
        } else {
            NoPlace::Refused(format!("what subtask {} left: {error}", left.task_id))
        }
    };
    let path = format!("/tasks/{}/files", left.task_id);
    let FilePage { files } = hub.get(&path, &[]).await.map_err(gone)?;
    let name = format!("tree/{}", left.tree);
    let Some(file) = files.iter().find(|file| file.name == name) else {
        let why = format!("what subtask {} left is not kept", left.task_id);
        return Err(NoPlace::Refused(why));
    };
    hub.bytes(&format!("/blobs/{}", file.hash), &[])
        .await
        .map_err(gone)
}

fn parsed(tree: &TreeId) -> Result<workspace::TreeId, NoPlace> {
    workspace::TreeId::parse(tree.as_str()).map_err(|error| NoPlace::Refused(error.to_string()))
}

fn not_now(error: impl std::fmt::Display) -> NoPlace {
    NoPlace::NotNow(error.to_string())
}
