//! Going on with what another worker began: the journal that the hub has, and the trees that it named.
//!
//! The tree with which the open attempt began is put together from a fresh clone and what was uploaded. Where
//! that cannot be, the next attempt begins from the fresh clone, and this is said. A folder is never uploaded
//! whole: how it stood when its run began is known to the worker that began it, and no other goes on with it.

use selvedge_core::machine::Run;
use selvedge_core::model::{EffectKind, Envelope, TaskId, TreeId};
use selvedge_core::protocol::{FileRef, JournalPage};
use selvedge_engine::workspace::{self, Workspace};

use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::{HubClient, HubError};

/// Events fetched at once.
const EVENTS_PER_PAGE: usize = 500;

/// A journal as the hub has it.
pub(super) struct FetchedJournal {
    pub(super) raw: Vec<String>,
    pub(super) events: Vec<Envelope>,
}

/// A task's files, as the hub lists them.
#[derive(serde::Deserialize)]
pub(super) struct TaskFileList {
    pub(super) files: Vec<FileRef>,
}

/// Fetches a task's journal.
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

/// Whether trees that a run of this worker's own may want are not here: its disk has lost them.
pub(super) fn has_missing_trees(run: &Run, place: &TaskWorkspace, ground: &WorkDirs) -> bool {
    let Ok(Some(workspace)) = place.open_workspace(ground) else {
        return false;
    };
    run.spec.snapshots
        && !referenced_trees(run)
            .iter()
            .all(|tree| is_tree_present(&workspace, tree))
}

/// Brings the trees here that the run may want, and makes the open attempt one that was cut off: it was
/// at work on another machine, and what it had done there is gone. What is to be said of it.
pub(super) async fn take_over_trees(
    hub: &HubClient,
    task: TaskId,
    place: &TaskWorkspace,
    ground: &WorkDirs,
    run: &mut Run,
) -> Result<Vec<String>, TaskWorkspaceError> {
    mark_interrupted(run);
    if !run.spec.snapshots {
        return Ok(Vec::new());
    }
    let not_now = |error: &dyn std::fmt::Display| TaskWorkspaceError::Retryable(error.to_string());
    let Some(workspace) = place
        .open_workspace(ground)
        .map_err(TaskWorkspaceError::Retryable)?
    else {
        return Ok(Vec::new());
    };
    let fresh = tokio::task::block_in_place(|| workspace.snapshot("taken over"));
    let fresh = fresh.map_err(|error| not_now(&error))?;
    let fetched = fetch_missing_trees(hub, task, &workspace, run).await;
    let mut notes = fetched.map_err(|error| not_now(&error))?;
    let is_here = |tree: &TreeId| is_tree_present(&workspace, tree);
    let begin_from = run.attempts.last().and_then(|it| it.from_tree.as_ref());
    if !run.start_tree.iter().chain(begin_from).all(is_here) {
        if !place.is_clone() && !run.attempts.is_empty() {
            // What an agent has changed there must never pass for what the guard compares with.
            return Err(TaskWorkspaceError::Rejected(format!(
                "an agent was at work in {}, and only the worker that began the run knows how the folder stood \
                 before: put it in order, then submit the task anew",
                place.dir.display()
            )));
        }
        notes.push(
            "what earlier attempts left is not here: the next one begins from a fresh clone"
                .to_owned(),
        );
        let fresh = TreeId::new(fresh.tree.as_str());
        for attempt in &mut run.attempts {
            attempt.from_tree = attempt.from_tree.take().filter(is_here);
            attempt.tree = attempt.tree.take().filter(is_here);
        }
        if run.start_tree.is_some() {
            run.start_tree = Some(fresh.clone());
        }
        run.current_tree = Some(fresh);
    }
    // A review's next attempt begins at once, from what stands there.
    if run.review.is_some()
        && let Some(tree) = run.current_tree.as_ref().filter(|tree| is_here(tree))
        && let Ok(tree) = workspace::SnapshotId::parse(tree.as_str())
        && let Err(error) = tokio::task::block_in_place(|| workspace.restore(&tree))
    {
        notes.push(format!(
            "the reviewed tree could not be put in place: {error}"
        ));
    }
    Ok(notes)
}

/// Fetches what was uploaded of the trees that are not here.
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
        let Ok(id) = workspace::SnapshotId::parse(tree.as_str()) else {
            continue;
        };
        if is_tree_present(workspace, &tree) {
            continue;
        }
        let pack = match hub.get_bytes(&format!("/blobs/{}", file.hash), &[]).await {
            Ok(pack) => pack,
            Err(error) if error.is_retryable() => return Err(error),
            // Kept no longer.
            Err(_) => continue,
        };
        let unpacked = tokio::task::block_in_place(|| workspace.unpack(pack, &id));
        if let Err(error) = unpacked {
            notes.push(format!("a tree could not be taken over: {error}"));
        }
    }
    Ok(notes)
}

fn is_tree_present(workspace: &Workspace, tree: &TreeId) -> bool {
    workspace::SnapshotId::parse(tree.as_str()).is_ok_and(|tree| {
        tokio::task::block_in_place(|| workspace.contains(&tree)).unwrap_or(false)
    })
}

/// The open attempt's session counts as started, wherever it stood.
fn mark_interrupted(run: &mut Run) {
    let Some(open) = run.open_attempt().map(|it| it.run_number) else {
        return;
    };
    let id = run.pending.first().map(|it| it.id);
    run.pending.clear();
    run.pending
        .extend(id.map(|id| selvedge_core::machine::PendingEffect {
            id,
            kind: EffectKind::Execute { run_number: open },
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
