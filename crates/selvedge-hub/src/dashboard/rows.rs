//! From the store's rows to the dashboard's.

use selvedge_core::fleet::TaskState;
use selvedge_core::model::{Cost as Money, CostSource, Outcome, Timestamp};
use selvedge_face::reading::{Standing, TaskRow};
use selvedge_store::hub::{Cost, TaskView};
use sha2::{Digest, Sha256};

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
        cost: money(view.cost),
        tokens: Some((view.cost.tokens_in, view.cost.tokens_out)),
        created_at: at(view.created_at),
        updated_at: at(view.row.updated_at),
        worker: lease.worker.clone(),
        part_of: None,
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

fn money(cost: Cost) -> Money {
    let source = if cost.unknown > 0 {
        CostSource::Unknown
    } else if cost.estimated > 0 {
        CostSource::Estimated
    } else {
        CostSource::Reported
    };
    let known = cost.calls == 0 || cost.calls > cost.unknown;
    Money {
        micro_usd: known.then_some(cost.micro_usd),
        source,
    }
}

/// Short, and without anything of the store in it.
pub(super) fn word(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::words::hex(hash.get(..12).unwrap_or_default())
}
