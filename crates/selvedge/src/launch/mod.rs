//! Carrying a run or a plan through in this process: lock, journal, driver, signals, verdict, exit
//! code. `run`, `demo`, `resume` and `review` differ only in what they launch.

mod book;
mod contest;
mod deliver;
mod plan;
mod signals;
mod stage;

use std::path::Path;

use selvedge_core::export::Account;
use selvedge_core::machine::{Control, Input, Run, State};
use selvedge_core::model::{Event, Outcome, PlanSpec, RunId, RunSpec};
use selvedge_engine::workspace::{LockError, WorkspaceLock};
use selvedge_store::Journal;

use self::stage::{Stage, on_stage};
pub(crate) use self::stage::{prove_dead, wait_for_end};
use crate::error::CliError;
use crate::local::Home;
use crate::output::Output;

/// Begins a run and carries it through.
pub(crate) fn begin(
    home: &Home,
    run_id: RunId,
    spec: &RunSpec,
    output: &Output,
) -> Result<u8, CliError> {
    output.reports.attestation.needs_trees(spec.snapshots)?;
    let _lock = lock(home, &spec.workspace, run_id)?;
    let input = Input::Create {
        spec: Box::new(spec.clone()),
    };
    let code = on_stage(home, output, async |stage| {
        let watch = stage.watch.as_ref();
        let state = stage
            .carry(run_id, spec, State::default(), input, watch)
            .await?;
        verdict(stage, &state)
    })?;
    deliver::when_over(home, run_id, code)
}

/// Begins a plan and carries it through.
pub(crate) fn begin_plan(
    home: &Home,
    run_id: RunId,
    spec: PlanSpec,
    output: &Output,
) -> Result<u8, CliError> {
    output.reports.attestation.not_of_a_plan()?;
    let _lock = lock(home, &spec.workspace, run_id)?;
    let code = on_stage(home, output, async |stage| {
        plan::begin(stage, run_id, spec).await
    })?;
    deliver::when_over(home, run_id, code)
}

/// Takes up a run, or a plan, that stopped before its end, or before its work was given back.
pub(crate) fn resume(home: &Home, state: State, output: &Output) -> Result<u8, CliError> {
    if let Some(code) = deliver::once_more(home, &state)? {
        return Ok(code);
    }
    if let Some(run) = &state.run {
        refuse_to_resume(&state, run)?;
    }
    if state.plan.is_some() {
        return go_on_with_plan(home, state, None, output);
    }
    go_on(home, state, Input::Resume, output)
}

/// Tells a run that stands still something, and carries it on from there; if it is a part of a plan,
/// the plan too.
pub(crate) fn go_on(
    home: &Home,
    state: State,
    input: Input,
    output: &Output,
) -> Result<u8, CliError> {
    let Some(run) = state.run.clone() else {
        return Err(CliError::usage("the run's journal is empty"));
    };
    if let Some(part) = &run.spec.part_of {
        let plan = home.replay(&home.journal_to_read()?, part.plan)?;
        return go_on_with_plan(home, plan, Some((state, input)), output);
    }
    let _lock = lock(home, &run.spec.workspace, run.run_id)?;
    ensure_unchanged(home, run.run_id, state.seq)?;
    let code = on_stage(home, output, async |stage| {
        let watch = stage.watch.as_ref();
        let state = stage
            .carry(run.run_id, &run.spec, state, input, watch)
            .await?;
        verdict(stage, &state)
    })?;
    deliver::when_over(home, run.run_id, code)
}

/// Tells a part of a plan something first, if anything is to be told.
fn go_on_with_plan(
    home: &Home,
    state: State,
    first: Option<(State, Input)>,
    output: &Output,
) -> Result<u8, CliError> {
    let Some(plan) = &state.plan else {
        return Err(CliError::usage("the plan's journal is empty"));
    };
    refuse_unknown(&state, plan.run_id)?;
    if let Some(outcome) = plan.finished {
        return Err(finished(plan.run_id, outcome));
    }
    if plan.review.is_some() && plan.spec.contest.is_some() {
        return Err(waits(plan.run_id));
    }
    let run_id = plan.run_id;
    let _lock = lock(home, &plan.spec.workspace, run_id)?;
    ensure_unchanged(home, run_id, state.seq)?;
    if let Some((part, run)) = first
        .as_ref()
        .and_then(|(part, _)| Some((part, part.run.as_ref()?)))
    {
        ensure_unchanged(home, run.run_id, part.seq)?;
    }
    let code = on_stage(home, output, async |stage| {
        Box::pin(plan::go_on(stage, state, first)).await
    })?;
    deliver::when_over(home, run_id, code)
}

/// Tells a contest that waits for a person what they decided.
pub(crate) fn review_contest(
    home: &Home,
    state: State,
    reviewed: Event,
    output: &Output,
) -> Result<u8, CliError> {
    let Some(plan) = state.plan.as_ref().filter(|plan| plan.review.is_some()) else {
        return Err(CliError::usage("the plan waits for nobody's review"));
    };
    let run_id = plan.run_id;
    let _lock = lock(home, &plan.spec.workspace, run_id)?;
    ensure_unchanged(home, run_id, state.seq)?;
    let code = on_stage(home, output, async |stage| {
        contest::reviewed(stage, state, reviewed).await
    })?;
    deliver::when_over(home, run_id, code)
}

fn refuse_to_resume(state: &State, run: &Run) -> Result<(), CliError> {
    refuse_unknown(state, run.run_id)?;
    if run.finished {
        return Err(finished(run.run_id, run.outcome()));
    }
    if run.review.is_some() {
        return Err(waits(run.run_id));
    }
    Ok(())
}

fn refuse_unknown(state: &State, run_id: RunId) -> Result<(), CliError> {
    if state.unknown.is_empty() {
        return Ok(());
    }
    let (short, unknown) = (run_id.short(), state.unknown.join(", "));
    Err(CliError::usage(format!(
        "run {short} was written by a later release (unknown events: {unknown})"
    ))
    .hint("resume it with that release"))
}

fn waits(run_id: RunId) -> CliError {
    let short = run_id.short();
    CliError::usage(format!("run {short} waits for a person's decision")).hint(format!(
        "selvedge review {short} --accept, or --reject --reason TEXT"
    ))
}

fn finished(run_id: RunId, outcome: Outcome) -> CliError {
    let (short, outcome) = (run_id.short(), outcome.as_str());
    CliError::usage(format!("run {short} is finished: {outcome}"))
        .hint(format!("`selvedge show {short}` tells its story"))
}

/// Keeps every other run out of the directory.
pub(crate) fn lock(
    home: &Home,
    workspace: &Path,
    run_id: RunId,
) -> Result<WorkspaceLock, CliError> {
    WorkspaceLock::lock(home.root(), workspace, &run_id.to_string()).map_err(|error| match error {
        LockError::Held { run_id, .. } => {
            let who = run_id.map_or_else(|| "a worker's task".to_owned(), |id| format!("run {id}"));
            let error = CliError::usage(format!("{who} is at work in this directory"));
            error.hint("wait for it, stop it, or work in another directory (--dir)")
        }
        LockError::Workspace(error) => CliError::infrastructure(error),
    })
}

/// Refuses a decision on a state that the run has left. Every append is bound to that state as well; this check,
/// made with the lock held, gives an early and readable error.
fn ensure_unchanged(home: &Home, run_id: RunId, seq: u64) -> Result<(), CliError> {
    let summary = home.journal_to_read()?.summary(run_id);
    let summary = summary.map_err(CliError::infrastructure)?;
    if summary.is_some_and(|summary| summary.last_seq == seq) {
        return Ok(());
    }
    let short = run_id.short();
    Err(CliError::usage(format!(
        "run {short} went on meanwhile: nothing was decided"
    ))
    .hint(format!("look at it again: selvedge show {short}")))
}

/// Says how a run ended, or stands.
fn verdict(stage: &Stage<'_>, state: &State) -> Result<u8, CliError> {
    let Some(run) = &state.run else {
        return Err(CliError::infrastructure("the run has no state"));
    };
    stage.watch.run_over(run);
    let code = match run.outcome() {
        Outcome::Interrupted if run.control == Control::Suspended => stage.signals.code(),
        outcome => outcome.exit_code(),
    };
    let (reports, account) = (&stage.output.reports, Account::of_run(run));
    // First: what is written into the workspace by the others is not what was judged.
    let code = reports.attestation.of_run(code, run, stage.home);
    Ok(reports.write(code, &account, stage.home, &run.spec.workspace))
}
