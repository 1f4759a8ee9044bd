//! Continues a run that another worker began, from the hub's journal and the uploaded trees.
//!
//! The tree that the open attempt began from is restored from a fresh clone and the uploads. If that is not possible,
//! the next attempt begins from the fresh clone, and a note reports that. A folder is never uploaded as a whole: only
//! the worker that began the run knows its original state, so no other worker continues the run.

use selvedge_core::model::{EffectKind, Envelope, TaskId, TreeId};
use selvedge_core::run::Run;
use selvedge_engine::workspace::Workspace;
use selvedge_protocol::{FileRef, JournalPage};

use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::{HubClient, HubError};

/// Events fetched at once.
const EVENTS_PER_PAGE: usize = 500;

/// A journal fetched from the hub.
pub(super) struct FetchedJournal {
    pub(super) raw: Vec<String>,
    pub(super) events: Vec<Envelope>,
}

/// A task's files in the hub's list.
#[derive(serde::Deserialize)]
pub(super) struct TaskFileList {
    pub(super) files: Vec<FileRef>,
}

pub(super) async fn fetch_journal(
    hub: &HubClient,
    task: TaskId,
) -> Result<FetchedJournal, HubError> {
    let (mut raw, mut events, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let query = [
            ("after", after.to_string()),
            ("limit", EVENTS_PER_PAGE.to_string()),
        ];
        let page: JournalPage = hub.get(&format!("/tasks/{task}/journal"), &query).await?;
        for event in page.events {
            raw.push(event.to_string());
            let envelope: Envelope = serde_json::from_value(event)
                .map_err(|error| HubError::InvalidResponse(error.to_string()))?;
            events.push(envelope);
        }
        match page.next {
            Some(next) if next > after => after = next,
            _ => return Ok(FetchedJournal { raw, events }),
        }
    }
}

/// Whether this worker's disk has lost trees that the run may need.
pub(super) fn has_missing_trees(
    run: &Run,
    task_workspace: &TaskWorkspace,
    work_dirs: &WorkDirs,
) -> bool {
    let Ok(Some(workspace)) = task_workspace.open_workspace(work_dirs) else {
        return false;
    };
    run.spec.snapshots
        && !referenced_trees(run)
            .iter()
            .all(|tree| is_tree_present(&workspace, tree))
}

/// Fetches the trees that the run may need, and marks the open attempt as interrupted: its session ran on another
/// machine, and its changes are lost. Returns notes for the user.
pub(super) async fn take_over_trees(
    hub: &HubClient,
    task: TaskId,
    task_workspace: &TaskWorkspace,
    work_dirs: &WorkDirs,
    run: &mut Run,
) -> Result<Vec<String>, TaskWorkspaceError> {
    mark_interrupted(run);
    if !run.spec.snapshots {
        return Ok(Vec::new());
    }
    let retryable =
        |error: &dyn std::fmt::Display| TaskWorkspaceError::Retryable(error.to_string());
    let Some(workspace) = task_workspace
        .open_workspace(work_dirs)
        .map_err(|error| retryable(&error))?
    else {
        return Ok(Vec::new());
    };
    let fresh = tokio::task::block_in_place(|| workspace.snapshot("taken over"));
    let fresh = fresh.map_err(|error| retryable(&error))?;
    let fetched = fetch_missing_trees(hub, task, &workspace, run).await;
    let mut notes = fetched.map_err(|error| retryable(&error))?;
    let is_present = |tree: &TreeId| is_tree_present(&workspace, tree);
    let begin_from = run.attempts.last().and_then(|it| it.from_tree.as_ref());
    if !run.start_tree.iter().chain(begin_from).all(is_present) {
        if !task_workspace.is_clone() && !run.attempts.is_empty() {
            // An agent's changes must never become the base that the guard compares with.
            return Err(TaskWorkspaceError::Rejected(format!(
                "an agent has changed {}, and only the worker that started the run has its original \
                 state: clean up the folder, then submit the task again",
                task_workspace.dir.display()
            )));
        }
        notes.push(
            "the trees of earlier attempts are not available: the next attempt starts from a fresh clone"
                .to_owned(),
        );
        let fresh = fresh.tree;
        for attempt in &mut run.attempts {
            attempt.from_tree = attempt.from_tree.take().filter(is_present);
            attempt.tree = attempt.tree.take().filter(is_present);
        }
        if run.start_tree.is_some() {
            run.start_tree = Some(fresh.clone());
        }
        run.current_tree = Some(fresh);
    }
    // After a review the next attempt begins at once, from the current files.
    if run.review.is_some()
        && let Some(tree) = run.current_tree.as_ref().filter(|tree| is_present(tree))
        && let Err(error) = tokio::task::block_in_place(|| workspace.restore(tree))
    {
        notes.push(format!("cannot restore the reviewed tree: {error}"));
    }
    Ok(notes)
}

/// Fetches uploaded trees that this machine does not have.
async fn fetch_missing_trees(
    hub: &HubClient,
    task: TaskId,
    workspace: &Workspace,
    run: &Run,
) -> Result<Vec<String>, HubError> {
    let mut notes = Vec::new();
    let TaskFileList { files } = hub.get(&format!("/tasks/{task}/files"), &[]).await?;
    for tree in referenced_trees(run) {
        let name = format!("tree/{tree}");
        let Some(file) = files.iter().find(|file| file.name == name) else {
            continue;
        };
        if is_tree_present(workspace, &tree) {
            continue;
        }
        let pack = match hub.get_bytes(&format!("/blobs/{}", file.hash), &[]).await {
            Ok(pack) => pack,
            Err(error) if error.is_retryable() => return Err(error),
            // The hub has deleted it.
            Err(_) => continue,
        };
        let unpacked = tokio::task::block_in_place(|| workspace.unpack(pack, &tree));
        if let Err(error) = unpacked {
            notes.push(format!("cannot import a tree: {error}"));
        }
    }
    Ok(notes)
}

fn is_tree_present(workspace: &Workspace, tree: &TreeId) -> bool {
    tokio::task::block_in_place(|| workspace.contains(tree)).unwrap_or(false)
}

/// Marks the open attempt's session as started, whatever its state was.
fn mark_interrupted(run: &mut Run) {
    let Some(open) = run.open_attempt().map(|it| it.attempt_number) else {
        return;
    };
    let id = run.pending.first().map(|it| it.id);
    run.pending.clear();
    run.pending
        .extend(id.map(|id| selvedge_core::run::PendingEffect {
            id,
            kind: EffectKind::Execute {
                attempt_number: open,
            },
            started: true,
        }));
}

fn referenced_trees(run: &Run) -> Vec<TreeId> {
    let mut trees: Vec<TreeId> = run
        .attempts
        .iter()
        .flat_map(|attempt| [attempt.from_tree.clone(), attempt.tree.clone()])
        .flatten()
        .chain(run.start_tree.clone())
        .chain(run.current_tree.clone())
        .collect();
    trees.sort();
    trees.dedup();
    trees
}
