//! Converts the store's rows to the dashboard's.

use selvedge_core::model::{Outcome, ReviewRecord};
use selvedge_dashboard::backend::{DashboardError, DisplayStatus, SubtaskSummary, TaskListItem};
use selvedge_dashboard::stats::RunStats;
use selvedge_protocol::{SubtaskRow, TaskState};
use selvedge_store::hub::TaskView;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::backend::store_failure;
use crate::hub::Hub;
use crate::plans;
use crate::task_rows::{cost_so_far, timestamp};

/// The agent of tasks that name none.
const DEFAULT_AGENT: &str = "default";

/// A task as a list item.
pub(super) fn row(view: &TaskView) -> TaskListItem {
    let lease = &view.row.lease;
    TaskListItem {
        id: view.row.task_id.to_string(),
        short: view.row.task_id.short(),
        description: view.title.clone(),
        agent: view
            .agent
            .clone()
            .unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
        workspace: view.place.clone().unwrap_or_default(),
        branch: None,
        status: reviewed_status(lease.state, lease.outcome, lease.review.as_ref()),
        attempts: lease.last_attempt,
        max_attempts: view.row.max_attempts,
        cost: cost_so_far(view),
        tokens: Some((view.cost.tokens_in, view.cost.tokens_out)),
        created_at: timestamp(view.row.created_at),
        updated_at: timestamp(view.row.updated_at),
        worker: lease.worker.clone(),
        part_of: view.part_of.clone(),
        model: None,
        reason: view.row.reason.clone().unwrap_or_default(),
    }
}

/// The branch or other revision that a submitted task names.
pub(super) fn branch_of(body: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        revision: Option<String>,
    }
    serde_json::from_str::<Named>(body).ok()?.revision
}

/// Adds the data from the statistics of the task's run.
pub(super) fn apply_stats(row: &mut TaskListItem, stats: &RunStats) {
    row.model.clone_from(&stats.model);
    // A task that names no agent was run by the worker's default.
    if row.agent == DEFAULT_AGENT {
        row.agent.clone_from(&stats.agent);
    }
    if stats.accepted && row.status == DisplayStatus::Finished(Outcome::Verified) {
        row.status = DisplayStatus::Accepted;
    }
}

/// The status of a task whose review is known: accepted work was not verified by its checks.
fn reviewed_status(
    state: TaskState,
    outcome: Option<Outcome>,
    review: Option<&ReviewRecord>,
) -> DisplayStatus {
    match run_status(state, outcome) {
        DisplayStatus::Finished(Outcome::Verified) if review.is_some_and(|it| it.accepted) => {
            DisplayStatus::Accepted
        }
        status => status,
    }
}

pub(super) fn run_status(state: TaskState, outcome: Option<Outcome>) -> DisplayStatus {
    match state {
        TaskState::Queued | TaskState::Offered => DisplayStatus::Queued,
        TaskState::Running => DisplayStatus::Running,
        TaskState::Backoff => DisplayStatus::Backoff,
        TaskState::Cancelling => DisplayStatus::Cancelling,
        TaskState::NeedsReview => DisplayStatus::NeedsReview,
        TaskState::Succeeded => DisplayStatus::Finished(outcome.unwrap_or(Outcome::Verified)),
        TaskState::Failed => DisplayStatus::Finished(outcome.unwrap_or(Outcome::Failed)),
        TaskState::Cancelled => DisplayStatus::Finished(Outcome::Cancelled),
        TaskState::Dead => DisplayStatus::Finished(Outcome::InfraFailed),
    }
}

/// Adds the totals of its subtasks to a plan's row, and returns them.
pub(super) async fn apply_plan_totals(
    hub: &Hub,
    view: &TaskView,
    row: &mut TaskListItem,
    body: &str,
) -> Result<Vec<SubtaskRow>, DashboardError> {
    let plan = serde_json::from_str(body).map_err(DashboardError::failed)?;
    let sum = plans::compute_totals(hub, plan, view.row.lease.outcome)
        .await
        .map_err(store_failure)?;
    row.attempts = sum.attempts;
    row.cost = sum.cost;
    row.tokens = Some(sum.tokens);
    Ok(sum.subtasks)
}

/// The subtasks of a plan for its page.
pub(super) fn plan_parts(subtasks: Vec<SubtaskRow>) -> Vec<SubtaskSummary> {
    let part = |it: SubtaskRow| SubtaskSummary {
        id: it.id,
        task: it.state.map(|_| it.task_id.to_string()),
        needs: it.depends_on,
        status: it.state.map_or(DisplayStatus::Queued, |state| {
            reviewed_status(state, it.outcome, it.review.as_ref())
        }),
        reason: it.reason.unwrap_or_default(),
        cost: it.state.map(|_| it.cost),
    };
    subtasks.into_iter().map(part).collect()
}

/// A short hash that reveals nothing of the text.
pub(super) fn fingerprint(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::format::hex(hash.get(..12).unwrap_or_default())
}
