//! Runs a plan: one subtask after the other, each as a separate run.
//!
//! A decision is durable before it is carried out: a subtask has begun when the plan's journal names its run, so a
//! resumed plan finds that run or begins it.

use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{Event, PlanSpec, PlannedSubtask, RunId, RunSpec, TreeId};
use selvedge_core::plan::{Plan, PlanStep};
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use uuid::Uuid;

use super::best_of;
use super::command_context::CommandContext;
use super::plan_journal::PlanJournal;
use crate::error::CliError;

pub(super) async fn begin(
    context: &CommandContext<'_>,
    run_id: RunId,
    spec: PlanSpec,
) -> Result<u8, CliError> {
    let mut journal = PlanJournal::open(context, run_id, JournalState::default())?;
    let plan = Box::new(spec);
    journal.append(Event::PlanCreated { plan }).await?;
    run_subtasks(context, journal).await
}

/// Resumes a plan; applies an input to one of its subtasks first, if given.
pub(super) async fn resume_plan(
    context: &CommandContext<'_>,
    state: JournalState,
    first: Option<(JournalState, Input)>,
) -> Result<u8, CliError> {
    let (run_id, after_crash) = match &state.plan {
        Some(plan) => (plan.run_id, !plan.stopped),
        None => return Err(CliError::usage("the plan's journal is empty")),
    };
    let mut journal = PlanJournal::open(context, run_id, state)?;
    journal.append(Event::Resumed { after_crash }).await?;
    if let Some((state, input)) = first
        && let Some(run) = state.run.clone()
    {
        let reporter = context.reporter.as_ref();
        let state = context
            .drive_run(run.run_id, &run.spec, state, input, reporter)
            .await?;
        if let Some(run) = &state.run {
            journal.record_subtask(run).await?;
        }
    }
    run_subtasks(context, journal).await
}

async fn run_subtasks(
    context: &CommandContext<'_>,
    mut journal: PlanJournal<'_>,
) -> Result<u8, CliError> {
    if let Some(floor) = journal.plan()?.spec.best_of_floor {
        best_of::run_best_of(context, &mut journal, floor).await?;
    }
    while journal.plan()?.finished.is_none() && !journal.plan()?.stopped {
        let plan = journal.plan()?.clone();
        match plan.next() {
            PlanStep::Continue { subtask, run_id } => {
                let run =
                    run_subtask(context, &plan, subtask, run_id, context.reporter.as_ref()).await?;
                journal.record_subtask(&run).await?;
            }
            PlanStep::Begin { .. } if context.signals.is_stop_requested() => {
                journal.append(Event::Suspended).await?;
            }
            PlanStep::Begin {
                subtask,
                restore: base_tree,
            } => {
                let replaced = base_tree.map(|tree| restore_base_tree(context, &plan, tree));
                let began = Event::SubtaskBegan {
                    id: subtask.id.clone(),
                    run_id: RunId::new(Uuid::now_v7()),
                    replaced: replaced.transpose()?,
                };
                journal.append(began).await?;
            }
            PlanStep::Finish(outcome) => journal.append(Event::RunFinished { outcome }).await?,
        }
    }
    journal.report_outcome()
}

/// Begins or resumes a subtask's run, and drives it until it ends, is stopped, or awaits review.
pub(super) async fn run_subtask(
    context: &CommandContext<'_>,
    plan: &Plan,
    subtask: &PlannedSubtask,
    run_id: RunId,
    observer: &dyn Observer,
) -> Result<Run, CliError> {
    let replayed = context.home.replay(&context.home.open_journal()?, run_id)?;
    let state = match &replayed.run {
        None => {
            let test_base = plan.start_tree().filter(|_| subtask.spec.snapshots);
            let spec = RunSpec {
                test_base: test_base.cloned(),
                ..plan.run_spec(subtask)
            };
            let input = Input::Create {
                spec: Box::new(spec.clone()),
            };
            context
                .drive_run(run_id, &spec, replayed, input, observer)
                .await?
        }
        Some(run) if run.finished || run.review.is_some() => replayed,
        Some(run) => {
            let spec = run.spec.clone();
            context
                .drive_run(run_id, &spec, replayed, Input::Resume, observer)
                .await?
        }
    };
    let missing_run = || CliError::infrastructure(format!("subtask `{}` has no run", subtask.id));
    state.run.ok_or_else(missing_run)
}

/// Restores the tree that a failed subtask began from; returns the backup of the current files.
fn restore_base_tree(
    context: &CommandContext<'_>,
    plan: &Plan,
    tree: &TreeId,
) -> Result<TreeId, CliError> {
    let restore = || {
        let workspace = context.home.open_workspace(&plan.spec.workspace)?;
        workspace.restore(tree)
    };
    let restored = tokio::task::block_in_place(restore).map_err(CliError::infrastructure)?;
    Ok(restored.backup_tree)
}
