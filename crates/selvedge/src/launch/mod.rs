//! Runs a task or a plan in this process: lock, journal, driver, signals, verdict and exit code, for `run`, `demo`,
//! `resume` and `review`.

mod best_of;
mod command_context;
mod deliver;
mod plan;
mod plan_journal;
mod signals;

use std::path::Path;

use selvedge_core::export::ReportInput;
use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{Event, Outcome, PlanSpec, RunId, RunSpec};
use selvedge_core::run::{Run, RunControl};
use selvedge_engine::workspace::{LockError, WorkspaceLock};
use selvedge_store::Journal;

use self::command_context::{CommandContext, with_command_context};
pub(crate) use self::command_context::{ensure_no_leftover_processes, wait_for_own_processes};
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::OutputOptions;

/// Begins a run and drives it.
pub(crate) fn begin(
    home: &StateDir,
    run_id: RunId,
    spec: &RunSpec,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    output
        .reports
        .attestation
        .ensure_trees_kept(spec.snapshots)?;
    let _lock = lock_workspace(home, &spec.workspace, run_id)?;
    let input = Input::Create {
        spec: Box::new(spec.clone()),
    };
    let code = with_command_context(home, output, async |context| {
        let reporter = context.reporter.as_ref();
        let state = context
            .drive_run(run_id, spec, JournalState::default(), input, reporter)
            .await?;
        report_verdict(context, &state)
    })?;
    deliver::deliver_if_finished(home, run_id, code)
}

/// Begins a plan and drives it.
pub(crate) fn begin_plan(
    home: &StateDir,
    run_id: RunId,
    spec: PlanSpec,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    output.reports.attestation.ensure_not_plan()?;
    let _lock = lock_workspace(home, &spec.workspace, run_id)?;
    let code = with_command_context(home, output, async |context| {
        plan::begin(context, run_id, spec).await
    })?;
    deliver::deliver_if_finished(home, run_id, code)
}

/// Resumes a run or a plan that was stopped before its end, or before its work was delivered.
pub(crate) fn resume(
    home: &StateDir,
    state: JournalState,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    if let Some(code) = deliver::retry_delivery(home, &state)? {
        return Ok(code);
    }
    if let Some(run) = &state.run {
        ensure_resumable(&state, run)?;
    }
    if state.plan.is_some() {
        return continue_plan(home, state, None, output);
    }
    continue_run(home, state, Input::Resume, output)
}

/// Applies an input to a paused run and drives it; if the run is part of a plan, also continues the plan.
pub(crate) fn continue_run(
    home: &StateDir,
    state: JournalState,
    input: Input,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let Some(run) = state.run.clone() else {
        return Err(CliError::usage("the run's journal is empty"));
    };
    if let Some(part) = &run.spec.part_of {
        let plan = home.replay(&home.open_journal_read_only()?, part.plan)?;
        return continue_plan(home, plan, Some((state, input)), output);
    }
    let _lock = lock_workspace(home, &run.spec.workspace, run.run_id)?;
    ensure_unchanged(home, run.run_id, state.seq)?;
    let code = with_command_context(home, output, async |context| {
        let reporter = context.reporter.as_ref();
        let state = context
            .drive_run(run.run_id, &run.spec, state, input, reporter)
            .await?;
        report_verdict(context, &state)
    })?;
    deliver::deliver_if_finished(home, run.run_id, code)
}

/// Continues a plan; applies an input to one of its subtasks first, if given.
fn continue_plan(
    home: &StateDir,
    state: JournalState,
    first: Option<(JournalState, Input)>,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let Some(plan) = &state.plan else {
        return Err(CliError::usage("the plan's journal is empty"));
    };
    ensure_known_events(&state, plan.run_id)?;
    if let Some(outcome) = plan.finished {
        return Err(already_finished_error(plan.run_id, outcome));
    }
    if plan.review.is_some() && plan.spec.best_of_floor.is_some() {
        return Err(awaiting_review_error(plan.run_id));
    }
    let run_id = plan.run_id;
    let _lock = lock_workspace(home, &plan.spec.workspace, run_id)?;
    ensure_unchanged(home, run_id, state.seq)?;
    if let Some((part, run)) = first
        .as_ref()
        .and_then(|(part, _)| Some((part, part.run.as_ref()?)))
    {
        ensure_unchanged(home, run.run_id, part.seq)?;
    }
    let code = with_command_context(home, output, async |context| {
        Box::pin(plan::resume_plan(context, state, first)).await
    })?;
    deliver::deliver_if_finished(home, run_id, code)
}

/// Applies a person's decision to a best-of-N run that awaits review.
pub(crate) fn review_best_of(
    home: &StateDir,
    state: JournalState,
    reviewed: Event,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let Some(plan) = state.plan.as_ref().filter(|plan| plan.review.is_some()) else {
        return Err(CliError::usage("the plan is not awaiting review"));
    };
    let run_id = plan.run_id;
    let _lock = lock_workspace(home, &plan.spec.workspace, run_id)?;
    ensure_unchanged(home, run_id, state.seq)?;
    let code = with_command_context(home, output, async |context| {
        best_of::apply_review(context, state, reviewed).await
    })?;
    deliver::deliver_if_finished(home, run_id, code)
}

fn ensure_resumable(state: &JournalState, run: &Run) -> Result<(), CliError> {
    ensure_known_events(state, run.run_id)?;
    if run.spec.agent.is_user_session() && !run.finished {
        let (short, agent) = (run.run_id.short(), &run.spec.agent.name);
        return Err(CliError::usage(format!(
            "run {short} belongs to a session of {agent}, which Selvedge did not start"
        ))
        .hint("continue in that session: its stop gate verifies the work"));
    }
    if run.finished {
        return Err(already_finished_error(run.run_id, run.outcome()));
    }
    if run.review.is_some() {
        return Err(awaiting_review_error(run.run_id));
    }
    Ok(())
}

fn ensure_known_events(state: &JournalState, run_id: RunId) -> Result<(), CliError> {
    if state.unknown.is_empty() {
        return Ok(());
    }
    let (short, unknown) = (run_id.short(), state.unknown.join(", "));
    Err(CliError::usage(format!(
        "run {short} was written by a newer release (unknown events: {unknown})"
    ))
    .hint("resume it with that release"))
}

fn awaiting_review_error(run_id: RunId) -> CliError {
    let short = run_id.short();
    CliError::usage(format!("run {short} is awaiting review")).hint(format!(
        "selvedge review {short} --accept, or --reject --reason TEXT"
    ))
}

fn already_finished_error(run_id: RunId, outcome: Outcome) -> CliError {
    let (short, outcome) = (run_id.short(), outcome.as_str().replace('_', " "));
    CliError::usage(format!("run {short} is finished: {outcome}"))
        .hint(format!("`selvedge show {short}` shows its history"))
}

/// Locks a workspace, so that no other run can use it.
pub(crate) fn lock_workspace(
    home: &StateDir,
    workspace: &Path,
    run_id: RunId,
) -> Result<WorkspaceLock, CliError> {
    WorkspaceLock::lock(home.root(), workspace, &run_id.to_string()).map_err(|error| match error {
        LockError::InUse { run_id, .. } => {
            let short = |id: String| id.parse().map_or(id, |id: RunId| id.short());
            let holder = run_id.map_or_else(
                || "a worker's task".to_owned(),
                |id| format!("run {}", short(id)),
            );
            let error = CliError::usage(format!("{holder} is using this directory"));
            error.hint("wait for it, stop it, or use another directory (--dir)")
        }
        LockError::Workspace(error) => CliError::infrastructure(error),
    })
}

/// Fails if the run has changed since `seq`. Every append checks this as well; this check, made while the lock is held,
/// gives an early and readable error.
fn ensure_unchanged(home: &StateDir, run_id: RunId, seq: u64) -> Result<(), CliError> {
    let summary = home.open_journal_read_only()?.summary(run_id);
    let summary = summary.map_err(CliError::infrastructure)?;
    if summary.is_some_and(|summary| summary.last_seq == seq) {
        return Ok(());
    }
    let short = run_id.short();
    Err(CliError::usage(format!(
        "run {short} changed in the meantime; the decision was not recorded"
    ))
    .hint(format!("inspect it again: selvedge show {short}")))
}

/// Reports the result of a run; returns the exit code.
fn report_verdict(context: &CommandContext<'_>, state: &JournalState) -> Result<u8, CliError> {
    let Some(run) = &state.run else {
        return Err(CliError::infrastructure("the run has no state"));
    };
    context.reporter.report_run_end(run);
    let code = match run.outcome() {
        Outcome::Interrupted if run.control == RunControl::Suspended => {
            context.signals.signal_exit_code()
        }
        outcome => outcome.exit_code(),
    };
    let (reports, report_input) = (&context.output.reports, ReportInput::of_run(run));
    // Must come first: other reports may be written into the workspace and were not judged.
    let code = reports.attestation.write_for_run(code, run, context.home);
    Ok(reports.write(code, &report_input, context.home, &run.spec.workspace))
}
