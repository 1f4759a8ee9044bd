//! Carries out a review from the dashboard: runs `selvedge review`, with the same locks and messages as in a terminal.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use selvedge_core::machine::JournalState;
use selvedge_core::model::{ReviewTarget, RunId, exit_code};
use selvedge_core::run::Run;
use selvedge_dashboard::backend::{DashboardError, PendingReview, ReviewSubmission};
use selvedge_engine::environment::host_env;
use selvedge_protocol::ReviewDecision;
use tokio::process::Command;

/// How long to wait for the command. A new attempt may run for long, but an invalid request fails immediately.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(20);
const RETRY_REVIEW_TIMEOUT: Duration = Duration::from_millis(1500);
/// Length limit for an error, in characters.
const MAX_ERROR_CHARS: usize = 600;

/// The work that awaits review; for a plan, that of the subtask that awaits review.
pub(super) fn pending_review(
    state: &JournalState,
    runs: &BTreeMap<RunId, Run>,
) -> Option<PendingReview> {
    let of_run = |run: &Run| Some((run.run_id, run.review_target()?));
    let (run, target) = match (&state.plan, &state.run) {
        (Some(plan), _) if plan.spec.best_of_floor.is_some() => {
            (plan.run_id, plan.review_target()?)
        }
        (Some(_), _) => runs.values().find_map(of_run)?,
        (None, run) => of_run(run.as_ref()?)?,
    };
    Some(PendingReview {
        task: run.to_string(),
        target,
    })
}

/// Runs the command; returns a message for the user.
pub(super) async fn run_review_command(
    run: &str,
    decision: &ReviewSubmission,
) -> Result<String, DashboardError> {
    let program = std::env::current_exe().map_err(DashboardError::failed)?;
    let mut command = Command::new(program);
    command.envs(host_env());
    command.args(["review", run, "--format", "json"]);
    let (arguments, timeout): (&[&str], _) = match decision.review {
        ReviewDecision::Accept => (&["--accept"], REVIEW_TIMEOUT),
        ReviewDecision::Reject => (&["--reject"], REVIEW_TIMEOUT),
        ReviewDecision::Retry => (&["--reject", "--retry"], RETRY_REVIEW_TIMEOUT),
    };
    command.args(arguments);
    // The decision applies only to the work that the page showed.
    let ReviewTarget { attempt, tree } = &decision.target;
    command.args(attempt.map(|number| format!("--attempt={number}")));
    command.args(tree.as_ref().map(|tree| format!("--tree={tree}")));
    command.arg(format!("--reason={}", decision.reason));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(DashboardError::failed)?;
    // In a separate task, so that the command continues after the timeout.
    let ended = tokio::spawn(child.wait_with_output());
    let Ok(ended) = tokio::time::timeout(timeout, ended).await else {
        return Ok("The decision is being applied.".to_owned());
    };
    let output = ended
        .map_err(DashboardError::failed)?
        .map_err(DashboardError::failed)?;
    let refused = [exit_code::USAGE, exit_code::INFRASTRUCTURE].map(i32::from);
    if output
        .status
        .code()
        .is_some_and(|code| !refused.contains(&code))
    {
        return Ok("Decided.".to_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(DashboardError::Refused(
        stderr.trim().chars().take(MAX_ERROR_CHARS).collect(),
    ))
}
