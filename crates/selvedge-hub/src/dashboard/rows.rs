//! From the store's rows to the dashboard's.

use selvedge_core::fleet::{SubtaskRow, TaskState};
use selvedge_core::model::{Outcome, Timestamp};
use selvedge_face::reading::{Part, Standing, TaskRow, Trouble};
use selvedge_store::hub::TaskView;
use sha2::{Digest, Sha256};

use super::reading::failed;
use crate::api::cost_of;
use crate::hub::Hub;
use crate::plans;

/// A task as a row.
pub(super) fn row(view: &TaskView) -> TaskRow {
    let lease = &view.row.lease;
    TaskRow {
        id: view.row.task_id.to_string(),
        short: view.row.task_id.short(),
        description: view.title.clone(),
        agent: view.agent.clone().unwrap_or_else(|| "default".to_owned()),
        workspace: view.place.clone().unwrap_or_default(),
        standing: standing(lease.state, lease.outcome),
        attempts: lease.last_run,
        max_attempts: view.max_attempts,
        cost: cost_of(view.cost),
        tokens: Some((view.cost.tokens_in, view.cost.tokens_out)),
        created_at: at(view.created_at),
        updated_at: at(view.row.updated_at),
        worker: lease.worker.clone(),
        part_of: view.part_of.clone(),
    }
}

/// Milliseconds since 1970 as a moment.
fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn standing(state: TaskState, outcome: Option<Outcome>) -> Standing {
    match state {
        TaskState::Queued | TaskState::Offered => Standing::Queued,
        TaskState::Running => Standing::Running,
        TaskState::Backoff => Standing::Backoff,
        TaskState::Cancelling => Standing::Cancelling,
        TaskState::NeedsReview => Standing::NeedsReview,
        TaskState::Succeeded => Standing::Finished(outcome.unwrap_or(Outcome::Verified)),
        TaskState::Failed => Standing::Finished(outcome.unwrap_or(Outcome::Failed)),
        TaskState::Cancelled => Standing::Finished(Outcome::Cancelled),
        TaskState::Dead => Standing::Finished(Outcome::InfraFailed),
    }
}

/// Has a plan's row show what its subtasks come to, and tells them.
pub(super) async fn sum_of_plan(
    hub: &Hub,
    view: &TaskView,
    row: &mut TaskRow,
    body: &str,
) -> Result<Vec<SubtaskRow>, Trouble> {
    let plan = serde_json::from_str(body).map_err(Trouble::failed)?;
    let sum = plans::sum(hub, plan, view.row.lease.outcome)
        .await
        .map_err(failed)?;
    row.attempts = sum.attempts;
    row.cost = sum.cost;
    row.tokens = Some(sum.tokens);
    Ok(sum.subtasks)
}

/// A plan's parts as its page shows them.
pub(super) fn parts(subtasks: Vec<SubtaskRow>) -> Vec<Part> {
    let part = |it: SubtaskRow| Part {
        id: it.id,
        task: it.state.map(|_| it.task_id.to_string()),
        needs: it.depends_on,
        standing: it
            .state
            .map_or(Standing::Queued, |state| standing(state, it.outcome)),
        reason: it.reason.unwrap_or_default(),
        cost: it.state.map(|_| it.cost),
    };
    subtasks.into_iter().map(part).collect()
}

/// Short, and without anything of the store in it.
pub(super) fn word(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::words::hex(hash.get(..12).unwrap_or_default())
}
