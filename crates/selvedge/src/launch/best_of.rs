//! Runs a task several times concurrently, each in a copy of the workspace, then restores the selected result into the
//! workspace. The copies are kept, so that all results can be shown.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use selvedge_core::machine::JournalState;
use selvedge_core::model::{Event, Outcome, RunId};
use selvedge_core::plan::{LeadingSubtask, Plan, Selection};
use uuid::Uuid;

use super::command_context::CommandContext;
use super::plan::run_subtask;
use super::plan_journal::PlanJournal;
use crate::error::CliError;

/// Drives all runs as far as possible, and selects a result if all have ended.
pub(super) async fn run_best_of(
    context: &CommandContext<'_>,
    journal: &mut PlanJournal<'_>,
    floor: f64,
) -> Result<(), CliError> {
    create_copies(context, journal).await?;
    let plan = journal.plan()?.clone();
    let open = plan.subtasks().filter(|(_, part)| part.end.is_none());
    let mut running: FuturesUnordered<_> = open
        .filter_map(|(subtask, part)| Some((subtask, part.run_id?)))
        .map(|(subtask, run_id)| {
            let plan = &plan;
            let observer = context.reporter.subtask_observer(&subtask.id);
            async move { run_subtask(context, plan, subtask, run_id, observer.as_ref()).await }
        })
        .collect();
    let mut stopped = false;
    while let Some(run) = running.next().await {
        let run = run?;
        // A run that was suspended has not ended; the other runs continue until they stop, too.
        if run.finished || run.review.is_some() {
            journal.record_subtask(&run).await?;
        } else {
            stopped = true;
        }
    }
    if stopped {
        return journal.append(Event::Suspended).await;
    }
    match journal.plan()?.select_best(floor) {
        Selection::Winner(selected) => {
            deliver_selected(context, journal, selected, Outcome::Verified).await
        }
        Selection::NeedsReview(LeadingSubtask { reason, id, .. }) => {
            let reason = format!("{reason}; review the work of {id}");
            journal.append(Event::ReviewRequested { reason }).await
        }
        Selection::NoneVerified(outcome) => journal.append(Event::RunFinished { outcome }).await,
    }
}

/// Applies a person's decision about the leading result.
pub(super) async fn apply_review(
    context: &CommandContext<'_>,
    state: JournalState,
    reviewed: Event,
) -> Result<u8, CliError> {
    let plan = state.plan.as_ref();
    let Some((run_id, floor)) = plan.and_then(|it| Some((it.run_id, it.spec.best_of_floor?)))
    else {
        return Err(CliError::usage("the plan is not a best-of-N run"));
    };
    let accepted = matches!(reviewed, Event::Reviewed { accepted: true, .. });
    let mut journal = PlanJournal::open(context, run_id, state)?;
    let choice = journal.plan()?.select_best(floor);
    journal.append(reviewed).await?;
    match choice {
        Selection::Winner(selected) | Selection::NeedsReview(selected) if accepted => {
            deliver_selected(context, &mut journal, selected, Outcome::Verified).await?;
        }
        _ => {
            let outcome = Outcome::MaxRetriesExhausted;
            journal.append(Event::RunFinished { outcome }).await?;
        }
    }
    journal.report_outcome()
}

/// Creates the copies. A copy whose run was not recorded is created again.
async fn create_copies(
    context: &CommandContext<'_>,
    journal: &mut PlanJournal<'_>,
) -> Result<(), CliError> {
    let plan = journal.plan()?.clone();
    let source = context.home.open_workspace(&plan.spec.workspace);
    let source = source.map_err(CliError::usage)?;
    for (subtask, part) in plan.subtasks() {
        if part.run_id.is_some() {
            continue;
        }
        let copy = &subtask.spec.workspace;
        tokio::task::block_in_place(|| {
            if copy.exists() {
                std::fs::remove_dir_all(copy).map_err(CliError::infrastructure)?;
            }
            source.copy_to(copy).map_err(CliError::infrastructure)
        })?;
        let began = Event::SubtaskBegan {
            id: subtask.id.clone(),
            run_id: RunId::new(Uuid::now_v7()),
            replaced: None,
        };
        journal.append(began).await?;
    }
    Ok(())
}

/// Restores the selected result into the workspace; snapshots the current files first.
async fn deliver_selected(
    context: &CommandContext<'_>,
    journal: &mut PlanJournal<'_>,
    selected: LeadingSubtask,
    outcome: Outcome,
) -> Result<(), CliError> {
    let plan = journal.plan()?.clone();
    let backup_tree =
        tokio::task::block_in_place(|| restore_selected_tree(context, &plan, &selected.id))?;
    let LeadingSubtask {
        id,
        confidence,
        reason,
    } = selected;
    let replaced = Some(backup_tree);
    journal
        .append(Event::SubtaskChosen {
            id,
            confidence,
            reason,
            replaced,
        })
        .await?;
    journal.append(Event::RunFinished { outcome }).await
}

fn restore_selected_tree(
    context: &CommandContext<'_>,
    plan: &Plan,
    id: &str,
) -> Result<selvedge_core::model::TreeId, CliError> {
    let lost = || CliError::infrastructure(format!("no snapshot of {id} is stored"));
    let (subtask, part) = plan
        .subtasks()
        .find(|(subtask, _)| subtask.id == id)
        .ok_or_else(lost)?;
    let tree = part.end.as_ref().and_then(|end| end.tree.as_ref());
    let tree = tree.ok_or_else(lost)?;
    let restore = || {
        let copy = context.home.open_workspace(&subtask.spec.workspace)?;
        let target = context.home.open_workspace(&plan.spec.workspace)?;
        target.import_snapshot(&copy, tree)?;
        target.restore(tree)
    };
    let restored = restore().map_err(CliError::infrastructure)?;
    Ok(restored.backup_tree)
}
