//! A plan carried through: one subtask after the other, as the plan says, each a run of its own.
//!
//! What was decided is durable before it is done: a subtask has begun once the plan's journal names its
//! run, so whoever takes the plan up again finds that run, or begins it.

use selvedge_core::machine::{Input, JournalState, Run};
use selvedge_core::model::{Event, PlanSpec, PlannedSubtask, RunId, RunSpec, TreeId};
use selvedge_core::plan::{Plan, PlanStep};
use selvedge_engine::{Observer, workspace};
use uuid::Uuid;

use super::best_of;
use super::command_context::CommandContext;
use super::plan_journal::PlanJournal;
use crate::error::CliError;

/// Begins a plan.
pub(super) async fn begin(
    stage: &CommandContext<'_>,
    run_id: RunId,
    spec: PlanSpec,
) -> Result<u8, CliError> {
    let mut book = PlanJournal::open(stage, run_id, JournalState::default())?;
    let plan = Box::new(spec);
    book.append(Event::PlanCreated { plan }).await?;
    run_subtasks(stage, book).await
}

/// Takes a plan up again, after one of its subtasks was told something, if it was.
pub(super) async fn resume_plan(
    stage: &CommandContext<'_>,
    state: JournalState,
    first: Option<(JournalState, Input)>,
) -> Result<u8, CliError> {
    let (run_id, after_crash) = match &state.plan {
        Some(plan) => (plan.run_id, !plan.stopped),
        None => return Err(CliError::usage("the plan's journal is empty")),
    };
    let mut book = PlanJournal::open(stage, run_id, state)?;
    book.append(Event::Resumed { after_crash }).await?;
    if let Some((state, input)) = first
        && let Some(run) = state.run.clone()
    {
        let watch = stage.reporter.as_ref();
        let state = stage
            .drive_run(run.run_id, &run.spec, state, input, watch)
            .await?;
        if let Some(run) = &state.run {
            book.record_subtask(run).await?;
        }
    }
    run_subtasks(stage, book).await
}

async fn run_subtasks(
    stage: &CommandContext<'_>,
    mut book: PlanJournal<'_>,
) -> Result<u8, CliError> {
    if let Some(floor) = book.plan()?.spec.contest {
        best_of::run_best_of(stage, &mut book, floor).await?;
    }
    while book.plan()?.finished.is_none() && !book.plan()?.stopped {
        let plan = book.plan()?.clone();
        match plan.next() {
            PlanStep::Continue { subtask, run_id } => {
                let run =
                    run_subtask(stage, &plan, subtask, run_id, stage.reporter.as_ref()).await?;
                book.record_subtask(&run).await?;
            }
            PlanStep::Begin { .. } if stage.signals.is_stop_requested() => {
                book.append(Event::Suspended).await?;
            }
            PlanStep::Begin {
                subtask,
                restore: put_back,
            } => {
                let replaced = put_back.map(|tree| restore_base_tree(stage, &plan, tree));
                let began = Event::SubtaskBegan {
                    id: subtask.id.clone(),
                    run_id: RunId::new(Uuid::now_v7()),
                    replaced: replaced.transpose()?,
                };
                book.append(began).await?;
            }
            PlanStep::Finish(outcome) => book.append(Event::RunFinished { outcome }).await?,
        }
    }
    book.report_outcome()
}

/// One subtask's run, begun or taken up again, as far as it goes by itself.
pub(super) async fn run_subtask(
    stage: &CommandContext<'_>,
    plan: &Plan,
    subtask: &PlannedSubtask,
    run_id: RunId,
    observer: &dyn Observer,
) -> Result<Run, CliError> {
    let known = stage.home.replay(&stage.home.open_journal()?, run_id)?;
    let state = match &known.run {
        None => {
            let test_base = plan.start_tree().filter(|_| subtask.spec.snapshots);
            let spec = RunSpec {
                test_base: test_base.cloned(),
                ..plan.run_spec(subtask)
            };
            let input = Input::Create {
                spec: Box::new(spec.clone()),
            };
            stage
                .drive_run(run_id, &spec, known, input, observer)
                .await?
        }
        Some(run) if run.finished || run.review.is_some() => known,
        Some(run) => {
            let spec = run.spec.clone();
            stage
                .drive_run(run_id, &spec, known, Input::Resume, observer)
                .await?
        }
    };
    let gone = || CliError::infrastructure(format!("subtask `{}` has no run", subtask.id));
    state.run.ok_or_else(gone)
}

/// Puts the tree back that a failed subtask began from; what stands there is kept first, and named.
fn restore_base_tree(
    stage: &CommandContext<'_>,
    plan: &Plan,
    tree: &TreeId,
) -> Result<TreeId, CliError> {
    let restore = || {
        let workspace = stage.home.open_workspace(&plan.spec.workspace)?;
        workspace.restore(&workspace::SnapshotId::parse(tree.as_str())?)
    };
    let restored = tokio::task::block_in_place(restore).map_err(CliError::infrastructure)?;
    Ok(TreeId::new(restored.backup_tree.as_str()))
}
