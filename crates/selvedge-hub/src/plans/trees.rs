//! The base tree of a subtask: all subtasks share one workspace, wherever each is carried out.
//!
//! Invariant: changes of a failed subtask never affect the verification of another one, and changes of a
//! verified one are never missing where another builds on them.

use selvedge_core::model::{BaseTree, SubtaskTree, TreeId};
use selvedge_core::plan::{final_tree, unblocks_dependents};
use selvedge_store::hub::{HubStoreError, TaskView};

use super::state::PlanState;
use crate::hub::Hub;
use crate::run_stats;

/// The tree to restore; `None` if the workspace already has the right files. The inner error describes what
/// is missing.
pub(super) async fn find_base_tree(
    hub: &Hub,
    course: &PlanState,
) -> Result<Result<Option<BaseTree>, String>, HubStoreError> {
    let mut done: Vec<(&str, &TaskView)> = course.subtasks.named().collect();
    done.sort_by_key(|(_, view)| view.created_at);
    if course.subtasks.task.repository.is_none() {
        return Ok(Ok(
            tree_to_restore(hub, done.last().map(|(_, view)| *view)).await?
        ));
    }
    let mut left = Vec::new();
    for (id, view) in done {
        if !view.row.lease.outcome.is_some_and(unblocks_dependents) {
            continue;
        }
        let state = run_stats::load_state(hub, view.row.task_id).await?;
        match state.run.as_ref().and_then(final_tree) {
            Some(tree) => left.push(SubtaskTree {
                task_id: view.row.task_id,
                tree,
            }),
            None => {
                return Ok(Err(format!(
                    "no tree of subtask `{id}` is stored: its worker takes no snapshots, or its journal has \
                     expired"
                )));
            }
        }
    }
    let last: Option<TreeId> = left.last().map(|last| last.tree.clone());
    Ok(Ok(last.map(|tree| BaseTree { tree, left })))
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
    let state = run_stats::load_state(hub, failed.row.task_id).await?;
    let tree = state.run.and_then(|run| run.start_tree);
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
    begun.sort_by_key(|view| view.created_at);
    for view in begun {
        let state = run_stats::load_state(hub, view.row.task_id).await?;
        if let Some(tree) = state.run.and_then(|run| run.start_tree) {
            return Ok(Some(tree));
        }
    }
    Ok(None)
}
