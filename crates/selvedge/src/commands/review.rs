//! `selvedge review`: a person's decision on work that is awaiting review.

use selvedge_core::machine::{Input, JournalState, decide};
use selvedge_core::model::{Event, ReviewTarget, RunId};
use selvedge_core::plan::{Plan, PlanStep};
use selvedge_core::run::{Phase, Run};
use selvedge_store::{RunStatus, RunSummary, SqliteJournal};

use super::{environment, fleet, workspace_runs};
use crate::cli::ReviewArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::StateDir;

pub(super) fn run(args: &ReviewArgs) -> Result<u8, CliError> {
    if let Some(credentials) = fleet::hub_credentials(&args.hub)? {
        return fleet::review(args, &credentials);
    }
    let environment = environment();
    let home = StateDir::from_environment(&environment)?;
    let journal = home.open_journal_read_only()?;
    let mut run_id = resolve_reviewed_run(args, &home, &journal)?;
    // Read once: the decision applies to this state, or not at all.
    let mut state = home.replay(&journal, run_id)?;
    // For a plan, the decision is about the subtask that awaits review.
    if let Some(PlanStep::Continue { run_id: part, .. }) = state.plan.as_ref().map(Plan::next) {
        state = home.replay(&journal, part)?;
        run_id = part;
    }
    drop(journal);
    let by = environment.iter().find(|(name, _)| name == "USER");
    let by = by.map_or_else(|| "a person".to_owned(), |(_, user)| user.clone());
    if let Some(plan) = state.plan.as_ref().filter(|plan| plan.review.is_some()) {
        if args.retry {
            return Err(CliError::usage("a best-of-N run cannot be retried")
                .hint("reject it, and run the task again with a better description"));
        }
        let target = plan.review_target().unwrap_or_default();
        announce(args, run_id, &target)?;
        let reviewed = Event::Reviewed {
            accepted: args.accept,
            by,
            stated_by: None,
            reason: args.reason.clone(),
        };
        return launch::review_best_of(&home, state, reviewed, &args.format.into());
    }
    let is_awaiting_review = |run: &&Run| run.phase() == Phase::AwaitingReview;
    let Some(run) = state.run.as_ref().filter(is_awaiting_review) else {
        return Err(not_awaiting_error(run_id, &state));
    };
    let target = run.review_target().unwrap_or_default();
    announce(args, run_id, &target)?;
    let input = Input::Review {
        named: target,
        accepted: args.accept,
        retry: args.retry,
        by,
        stated_by: None,
        reason: args.reason.clone(),
    };
    // Checked before the journal of a surrounding plan is written.
    decide(&state, input.clone()).map_err(CliError::usage)?;
    launch::continue_run(&home, state, input, &args.format.into())
}

/// The run to review: the named one, or the latest of this directory, which must be awaiting review.
fn resolve_reviewed_run(
    args: &ReviewArgs,
    home: &StateDir,
    journal: &SqliteJournal,
) -> Result<RunId, CliError> {
    if let Some(name) = &args.run {
        return home.find_run(journal, name);
    }
    let runs = workspace_runs(home, journal)?;
    let latest = runs.latest()?;
    if is_awaiting(latest) {
        return Ok(latest.run_id);
    }
    let (short, label) = (latest.run_id.short(), status_label(latest.status));
    let error = CliError::usage(format!(
        "the latest run of this directory, {short}, is not awaiting review: its state is `{label}`"
    ));
    Err(match runs.list_matching(is_awaiting) {
        Some(others) => error.hint(format!("awaiting review in this directory: {others}")),
        None => error.hint("no run of this directory is awaiting review"),
    })
}

fn is_awaiting(run: &RunSummary) -> bool {
    run.status == RunStatus::AwaitingReview
}

fn status_label(status: RunStatus) -> String {
    match status {
        RunStatus::Open => "not finished".to_owned(),
        RunStatus::Suspended => "suspended".to_owned(),
        RunStatus::AwaitingReview => "awaiting review".to_owned(),
        RunStatus::Finished { outcome } => outcome.as_str().replace('_', " "),
    }
}

fn not_awaiting_error(run_id: RunId, state: &JournalState) -> CliError {
    let short = run_id.short();
    let run = state.run.as_ref().filter(|run| run.finished);
    let outcome = run.map(|run| run.outcome().as_str().replace('_', " "));
    let outcome = outcome.map(|outcome| format!(": its state is `{outcome}`"));
    CliError::usage(format!(
        "run {short} is not awaiting review{}",
        outcome.unwrap_or_default()
    ))
    .hint(format!("`selvedge show {short}` shows its state"))
}

/// Prints the work to be decided on; fails if the arguments name other work.
fn announce(args: &ReviewArgs, run_id: RunId, target: &ReviewTarget) -> Result<(), CliError> {
    let short = run_id.short();
    target.check(&requested_target(args)).map_err(|stale| {
        CliError::usage(stale).hint(format!(
            "inspect the current work with `selvedge show {short} --diff`, then review it"
        ))
    })?;
    print_target(args, &format!("run {short}"), target);
    Ok(())
}

/// The work that the arguments name.
pub(super) fn requested_target(args: &ReviewArgs) -> ReviewTarget {
    ReviewTarget {
        attempt: args.attempt,
        tree: args.tree.clone(),
    }
}

/// Prints the work to be decided on.
pub(super) fn print_target(args: &ReviewArgs, whose: &str, target: &ReviewTarget) {
    let verb = if args.accept {
        "accepting"
    } else {
        "rejecting"
    };
    errln!("{verb} {target} of {whose}");
}
