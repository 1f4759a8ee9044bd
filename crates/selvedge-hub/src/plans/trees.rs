//! The base tree of a subtask: all subtasks share one workspace, wherever each is carried out.
//!
//! Invariant: changes of a failed subtask never affect the verification of another one, and changes of a
//! verified one are never missing where another builds on them.

use selvedge_core::machine::JournalState;
use selvedge_core::model::{BaseTree, SubtaskTree, TreeId};
use selvedge_core::plan::unblocks_dependents;
use selvedge_core::run::Run;
use selvedge_store::hub::{HubStoreError, TaskView};

use super::state::PlanState;
use crate::hub::Hub;
use crate::journal_states::load_state;

/// Why the base tree of a subtask cannot be determined.
#[derive(Debug, thiserror::Error)]
pub(super) enum BaseTreeError {
    /// The tree of an earlier subtask is missing.
    #[error(
        "no tree of subtask `{0}` is stored: its worker takes no snapshots, or its journal has expired"
    )]
    Missing(String),
    #[error(transparent)]
    Store(#[from] HubStoreError),
}

/// The tree to restore; `None` if the workspace already has the right files.
pub(super) async fn find_base_tree(
    hub: &Hub,
    course: &PlanState,
) -> Result<Option<BaseTree>, BaseTreeError> {
    let mut finished: Vec<(&str, &TaskView)> = course.subtasks.named().collect();
    finished.sort_by_key(|(_, view)| view.row.created_at);
    if course.subtasks.task.repository.is_none() {
        return Ok(tree_to_restore(hub, finished.last().map(|(_, view)| *view)).await?);
    }
    let mut left = Vec::new();
    for (id, view) in finished {
        if !view.row.lease.outcome.is_some_and(unblocks_dependents) {
            continue;
        }
        let state = load_state(hub, view.row.task_id).await?;
        match state.run.as_ref().and_then(Run::final_tree) {
            Some(tree) => left.push(SubtaskTree {
                task_id: view.row.task_id,
                tree,
            }),
            None => return Err(BaseTreeError::Missing(id.to_owned())),
        }
    }
    let last: Option<TreeId> = left.last().map(|last| last.tree.clone());
    Ok(last.map(|tree| BaseTree { tree, left }))
}

/// For a folder of the worker that still contains the last subtask's files: if that subtask failed, returns
/// the tree that it began from.
async fn tree_to_restore(
    hub: &Hub,
    last: Option<&TaskView>,
) -> Result<Option<BaseTree>, HubStoreError> {
    let Some(failed) = last.filter(|view| !view.row.lease.outcome.is_some_and(unblocks_dependents))
    else {
        return Ok(None);
    };
    let state = load_state(hub, failed.row.task_id).await?;
    let tree = start_tree(&state);
    Ok(tree.map(|tree| BaseTree {
        tree,
        left: Vec::new(),
    }))
}

/// The tree that the plan began from, which is the base of its first subtask. `None` if no snapshots are
/// taken.
pub(super) async fn plan_start_tree(
    hub: &Hub,
    course: &PlanState,
) -> Result<Option<TreeId>, HubStoreError> {
    let mut begun: Vec<&TaskView> = course.subtasks.started().collect();
    begun.sort_by_key(|view| view.row.created_at);
    for view in begun {
        let state = load_state(hub, view.row.task_id).await?;
        let tree = start_tree(&state);
        if tree.is_some() {
            return Ok(tree);
        }
    }
    Ok(None)
}

fn start_tree(state: &JournalState) -> Option<TreeId> {
    state.run.as_ref()?.start_tree.clone()
}
