//! Several executions of one task, side by side, each in a copy of the workspace; then the one that most
//! agree with is put in place of what stands there. The copies stay, so that all of them can be shown.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use selvedge_core::machine::JournalState;
use selvedge_core::model::{Event, Outcome, RunId};
use selvedge_core::plan::{LeadingSubtask, Plan, Selection};
use selvedge_engine::workspace;
use uuid::Uuid;

use super::command_context::CommandContext;
use super::plan::run_subtask;
use super::plan_journal::PlanJournal;
use crate::error::CliError;

/// Carries all executions as far as they go, and draws the conclusion once all have ended.
pub(super) async fn run_best_of(
    stage: &CommandContext<'_>,
    book: &mut PlanJournal<'_>,
    floor: f64,
) -> Result<(), CliError> {
    create_copies(stage, book).await?;
    let plan = book.plan()?.clone();
    let open = plan.subtasks().filter(|(_, part)| part.end.is_none());
    let mut at_work: FuturesUnordered<_> = open
        .filter_map(|(subtask, part)| Some((subtask, part.run_id?)))
        .map(|(subtask, run_id)| {
            let plan = &plan;
            let beside = stage.reporter.subtask_observer(&subtask.id);
            async move { run_subtask(stage, plan, subtask, run_id, beside.as_ref()).await }
        })
        .collect();
    let mut stopped = false;
    while let Some(run) = at_work.next().await {
        let run = run?;
        // One that was stopped in order is not over; the others are let come to their stop.
        if run.finished || run.review.is_some() {
            book.record_subtask(&run).await?;
        } else {
            stopped = true;
        }
    }
    if stopped {
        return book.append(Event::Suspended).await;
    }
    match book.plan()?.select_best(floor) {
        Selection::Winner(standing) => {
            deliver_selected(stage, book, standing, Outcome::Verified).await
        }
        Selection::NeedsReview(LeadingSubtask { reason, id, .. }) => {
            let reason = format!("{reason}; to be accepted or rejected: the work of {id}");
            book.append(Event::ReviewRequested { reason }).await
        }
        Selection::NoneVerified(outcome) => book.append(Event::RunFinished { outcome }).await,
    }
}

/// What a person decided about the work that stands for most.
pub(super) async fn apply_review(
    stage: &CommandContext<'_>,
    state: JournalState,
    reviewed: Event,
) -> Result<u8, CliError> {
    let plan = state.plan.as_ref();
    let Some((run_id, floor)) = plan.and_then(|it| Some((it.run_id, it.spec.contest?))) else {
        return Err(CliError::usage("there is no contest to decide"));
    };
    let accepted = matches!(reviewed, Event::Reviewed { accepted: true, .. });
    let mut book = PlanJournal::open(stage, run_id, state)?;
    let choice = book.plan()?.select_best(floor);
    book.append(reviewed).await?;
    match choice {
        Selection::Winner(standing) | Selection::NeedsReview(standing) if accepted => {
            deliver_selected(stage, &mut book, standing, Outcome::Verified).await?;
        }
        _ => {
            let outcome = Outcome::MaxRetriesExhausted;
            book.append(Event::RunFinished { outcome }).await?;
        }
    }
    book.report_outcome()
}

/// Makes the copies. One that was begun and has no run yet is made anew.
async fn create_copies(
    stage: &CommandContext<'_>,
    book: &mut PlanJournal<'_>,
) -> Result<(), CliError> {
    let plan = book.plan()?.clone();
    let source = stage.home.open_workspace(&plan.spec.workspace);
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
        book.append(began).await?;
    }
    Ok(())
}

/// Puts an execution's work into the workspace; what stands there is kept first.
async fn deliver_selected(
    stage: &CommandContext<'_>,
    book: &mut PlanJournal<'_>,
    standing: LeadingSubtask,
    outcome: Outcome,
) -> Result<(), CliError> {
    let plan = book.plan()?.clone();
    let kept_back =
        tokio::task::block_in_place(|| restore_selected_tree(stage, &plan, &standing.id))?;
    let LeadingSubtask {
        id,
        confidence,
        reason,
    } = standing;
    let replaced = Some(kept_back);
    book.append(Event::SubtaskChosen {
        id,
        confidence,
        reason,
        replaced,
    })
    .await?;
    book.append(Event::RunFinished { outcome }).await
}

fn restore_selected_tree(
    stage: &CommandContext<'_>,
    plan: &Plan,
    id: &str,
) -> Result<selvedge_core::model::TreeId, CliError> {
    let lost = || CliError::infrastructure(format!("the tree of {id} was not kept"));
    let (subtask, part) = plan
        .subtasks()
        .find(|(subtask, _)| subtask.id == id)
        .ok_or_else(lost)?;
    let tree = part.end.as_ref().and_then(|end| end.tree.as_ref());
    let tree = tree.ok_or_else(lost)?;
    let restore = || {
        let tree = workspace::SnapshotId::parse(tree.as_str())?;
        let copy = stage.home.open_workspace(&subtask.spec.workspace)?;
        let place = stage.home.open_workspace(&plan.spec.workspace)?;
        place.import_snapshot(&copy, &tree)?;
        place.restore(&tree)
    };
    let restored = restore().map_err(CliError::infrastructure)?;
    let kept_back = restored.backup_tree.as_str();
    Ok(selvedge_core::model::TreeId::new(kept_back))
}
