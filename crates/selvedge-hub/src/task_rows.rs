//! Rows of the store in their wire format.

use selvedge_core::model::{Cost, CostSource, Task, TaskId, Timestamp};
use selvedge_protocol::{RESERVED_LABEL_PREFIX, TaskRow, TaskState};
use selvedge_store::hub::{LedgerTotal, TaskView};

/// Converts milliseconds since 1970.
pub(crate) fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The sum of a ledger as a cost.
pub(crate) fn cost_of(ledger: LedgerTotal) -> Cost {
    if ledger.calls == 0 {
        return Cost::ZERO;
    }
    let source = if ledger.unknown > 0 {
        CostSource::Unknown
    } else if ledger.estimated > 0 {
        CostSource::Estimated
    } else {
        CostSource::Reported
    };
    let has_known_cost = ledger.calls > ledger.unknown || ledger.micro_usd.0 > 0;
    Cost {
        micro_usd: has_known_cost.then_some(ledger.micro_usd),
        source,
    }
}

/// The cost of a task so far. While an attempt is open, its cost is not known yet.
pub(crate) fn cost_so_far(view: &TaskView) -> Cost {
    let cost = cost_of(view.cost);
    if view.row.lease.open_attempt.is_some() {
        cost + Cost::UNKNOWN
    } else {
        cost
    }
}

/// A task's row, without what its journal and its subtasks add. `body` is the whole task as JSON.
pub(crate) fn task_row(view: &TaskView, body: Option<&str>) -> TaskRow {
    let lease = &view.row.lease;
    let task = body.and_then(|body| serde_json::from_str::<Task>(body).ok());
    TaskRow {
        task_id: view.row.task_id,
        state: lease.state,
        outcome: lease.outcome,
        reason: view.row.reason.clone(),
        resumes_at: (lease.state == TaskState::Backoff)
            .then_some(lease.due_at)
            .flatten()
            .map(timestamp),
        review: lease.review.clone(),
        awaiting_review: None,
        description: view.title.clone(),
        agent: view.agent.clone(),
        workspace: view.place.clone(),
        attempts: lease.last_attempt,
        max_attempts: view.row.max_attempts,
        infra_losses: lease.losses,
        cost: cost_so_far(view),
        tokens: view.cost.tokens_in.saturating_add(view.cost.tokens_out),
        lease_epoch: lease.epoch,
        worker: lease.worker.clone(),
        priority: view.priority,
        labels: labels(view, task.as_ref()),
        project: view.project.clone(),
        unplaceable: None,
        waits: None,
        retry_of: view.retry_of,
        cancel_reason: lease.cancel.clone(),
        last_event_seq: view.row.event_seq,
        created_at: timestamp(view.row.created_at),
        updated_at: timestamp(view.row.updated_at),
        parent_task_id: view
            .part_of
            .as_ref()
            .map(|part| TaskId::new(part.plan.uuid())),
        subtasks: Vec::new(),
        task: task.map(Box::new),
    }
}

/// The labels of the submitted task, without the internal label that keeps a plan from workers.
pub(crate) fn labels(view: &TaskView, task: Option<&Task>) -> Vec<String> {
    if let Some(task) = task {
        return task.labels.clone();
    }
    let is_user_label = |label: &&String| !label.starts_with(RESERVED_LABEL_PREFIX);
    view.labels.iter().filter(is_user_label).cloned().collect()
}
