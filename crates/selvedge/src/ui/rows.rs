//! Converts the journal's summaries to the dashboard's rows.

use std::path::Path;

use selvedge_core::model::{Cost, Outcome};
use selvedge_dashboard::backend::{DisplayStatus, TaskListItem};
use selvedge_dashboard::stats::RunStats;
use selvedge_engine::workspace::file_name_for;
use selvedge_store::{RunStatus, RunSummary, TaskHead};

use super::held_locks::HeldLocks;

pub(super) fn row(summary: &RunSummary, state_directory: &Path, held: &HeldLocks) -> TaskListItem {
    let task = summary.task.as_ref();
    let text = |text: Option<&str>, else_: &str| text.unwrap_or(else_).to_owned();
    TaskListItem {
        id: summary.run_id.to_string(),
        short: summary.run_id.short(),
        description: task.map_or_else(
            || "(written by a newer release)".to_owned(),
            |task| mark_truncated(&task.description),
        ),
        agent: text(task.map(|task| task.agent.as_str()), "?"),
        workspace: task.map_or_else(String::new, |task| {
            task.workspace.to_string_lossy().into_owned()
        }),
        branch: None,
        status: run_status(summary, state_directory, held),
        attempts: summary.attempts,
        max_attempts: task.map_or(0, |task| task.max_attempts),
        // The cost of an open session is not known yet.
        cost: if summary.session_open {
            summary.cost + Cost::UNKNOWN
        } else {
            summary.cost
        },
        tokens: None,
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        worker: None,
        part_of: task.and_then(|task| task.part_of.clone()),
        model: None,
        reason: String::new(),
    }
}

/// Adds the data from the statistics of the run.
pub(super) fn apply_stats(row: &mut TaskListItem, stats: &RunStats) {
    row.tokens = Some((stats.tokens_in, stats.tokens_out));
    row.model.clone_from(&stats.model);
    row.workspace.clone_from(&stats.workspace);
    row.reason.clone_from(&stats.reason);
    if stats.accepted && row.status == DisplayStatus::Finished(Outcome::Verified) {
        row.status = DisplayStatus::Accepted;
    }
}

/// Marks a truncated description: a summary contains only its beginning.
fn mark_truncated(description: &str) -> String {
    let goes_on = description.chars().count() >= TaskHead::MAX_DESCRIPTION_CHARS;
    format!("{description}{}", if goes_on { "…" } else { "" })
}

fn run_status(summary: &RunSummary, state_directory: &Path, held: &HeldLocks) -> DisplayStatus {
    match summary.status {
        RunStatus::Suspended => DisplayStatus::Suspended,
        RunStatus::AwaitingReview => DisplayStatus::NeedsReview,
        RunStatus::Finished { outcome } => DisplayStatus::Finished(outcome),
        RunStatus::Open if is_running(summary, state_directory, held) => DisplayStatus::Running,
        RunStatus::Open => DisplayStatus::Interrupted,
    }
}

/// Whether a program holds the lock of the directory for this run or for its plan.
fn is_running(summary: &RunSummary, state_directory: &Path, held: &HeldLocks) -> bool {
    let Some(task) = &summary.task else {
        return false;
    };
    let name = file_name_for(&task.workspace) + ".lock";
    let holder = held.holder_of(&state_directory.join("locks").join(name));
    let plan = task.part_of.as_ref().map(|part| part.plan);
    match (holder, plan) {
        (Some(run), plan) => {
            run == summary.run_id.to_string() || plan.is_some_and(|plan| run == plan.to_string())
        }
        // The runs of best-of-N use copies of the workspace, which have no locks.
        (None, plan) => plan.is_some(),
    }
}
