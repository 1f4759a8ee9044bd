//! Carrying out what a person decided on the page: `selvedge review`, run beside it as they would have
//! typed it, with the same locks and the same words.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use selvedge_core::lease::ReviewAction;
use selvedge_core::machine::{JournalState, Run};
use selvedge_core::model::{ReviewTarget, RunId, exit_code};
use selvedge_dashboard::backend::{DashboardError, PendingReview, ReviewSubmission};
use tokio::process::Command;

/// How long the page waits. Another attempt goes on for as long as it takes; what is refused is
/// refused at once.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(20);
const RETRY_REVIEW_TIMEOUT: Duration = Duration::from_millis(1500);
/// How much of an error is shown, in characters.
const MAX_ERROR_CHARS: usize = 600;

/// The work that a person has to decide on; of a plan, that of the subtask that it waits for.
pub(super) fn pending_review(
    state: &JournalState,
    runs: &BTreeMap<RunId, Run>,
) -> Option<PendingReview> {
    let of_run = |run: &Run| Some((run.run_id, run.review_target()?));
    let (run, target) = match (&state.plan, &state.run) {
        (Some(plan), _) if plan.spec.contest.is_some() => (plan.run_id, plan.review_target()?),
        (Some(_), _) => runs.values().find_map(of_run)?,
        (None, run) => of_run(run.as_ref()?)?,
    };
    Some(PendingReview {
        task: run.to_string(),
        target,
    })
}

/// Runs the command; the answer is for the person.
pub(super) async fn run_review_command(
    run: &str,
    decision: &ReviewSubmission,
) -> Result<String, DashboardError> {
    let program = std::env::current_exe().map_err(DashboardError::failed)?;
    let mut command = Command::new(program);
    command.args(["review", run, "--format", "json"]);
    let (words, patience): (&[&str], _) = match decision.review {
        ReviewAction::Accept => (&["--accept"], REVIEW_TIMEOUT),
        ReviewAction::Reject => (&["--reject"], REVIEW_TIMEOUT),
        ReviewAction::Retry => (&["--reject", "--retry"], RETRY_REVIEW_TIMEOUT),
    };
    command.args(words);
    // What the page showed is decided on, or nothing.
    let ReviewTarget { attempt, tree } = &decision.target;
    command.args(attempt.map(|number| format!("--attempt={number}")));
    command.args(tree.as_ref().map(|tree| format!("--tree={tree}")));
    command.arg(format!("--reason={}", decision.reason));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(DashboardError::failed)?;
    // Asked for so that it goes on if nobody waits any longer.
    let ended = tokio::spawn(child.wait_with_output());
    let Ok(ended) = tokio::time::timeout(patience, ended).await else {
        return Ok("It is being carried out.".to_owned());
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
    let said = String::from_utf8_lossy(&output.stderr);
    Err(DashboardError::Refused(
        said.trim().chars().take(MAX_ERROR_CHARS).collect(),
    ))
}
