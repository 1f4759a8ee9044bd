//! The rows of tasks that users see: those of plans contain the totals of their subtasks.

use selvedge_protocol::{TaskPage, TaskRow, TaskState};
use selvedge_store::hub::{HubStoreError, ListFilter, TaskView};

use super::{Actor, ProjectLimits, ServiceError, find, parse_json, review_target};
use crate::hub::Hub;
use crate::plans::{self, PlanTotals};
use crate::task_rows::task_row;

/// A page of the user's tasks, newest first.
pub(crate) async fn list(
    hub: &Hub,
    actor: &Actor,
    filter: ListFilter,
    limit: usize,
) -> Result<TaskPage, ServiceError> {
    let filter = ListFilter {
        project: Some(actor.project.clone()),
        ..filter
    };
    let page = hub.store.tasks(filter, limit).await?;
    let mut tasks: Vec<TaskRow> = page.tasks.iter().map(|view| task_row(view, None)).collect();
    let limits = if tasks.iter().any(|row| row.state == TaskState::Queued) {
        Some(ProjectLimits::load(hub, &actor.project).await?)
    } else {
        None
    };
    for (row, view) in tasks.iter_mut().zip(&page.tasks) {
        if plans::is_plan(view) {
            add_plan_totals(hub, row).await?;
        } else if row.state == TaskState::Queued {
            row.unplaceable = hub.sessions.why_unschedulable(view);
            row.waits = limits.as_ref().and_then(|limits| limits.why_waiting(view));
        }
    }
    let last = tasks.last().filter(|_| page.more);
    Ok(TaskPage {
        next_cursor: last.map(|row| row.task_id.to_string()),
        tasks,
    })
}

/// Adds the totals of its subtasks to a plan's row: a plan has no attempts and costs of its own.
async fn add_plan_totals(hub: &Hub, row: &mut TaskRow) -> Result<(), ServiceError> {
    if let Some((_, body)) = hub.store.task(row.task_id).await? {
        let plan = parse_json(body.as_bytes())?;
        apply_totals(row, plans::compute_totals(hub, plan, row.outcome).await?);
        row.subtasks.clear();
    }
    Ok(())
}

fn apply_totals(row: &mut TaskRow, sum: PlanTotals) {
    row.attempts = sum.attempts;
    row.cost = sum.cost;
    row.tokens = sum.tokens.0.saturating_add(sum.tokens.1);
    row.subtasks = sum.subtasks;
}

/// The complete row of a task.
pub(crate) async fn show(hub: &Hub, actor: &Actor, task: &str) -> Result<TaskRow, ServiceError> {
    let (view, body) = find(hub, actor, task).await?;
    Ok(full_row(hub, &view, &body).await?)
}

/// The complete row of a task, with the subtasks of a plan.
pub(crate) async fn full_row(
    hub: &Hub,
    view: &TaskView,
    body: &str,
) -> Result<TaskRow, HubStoreError> {
    let mut row = task_row(view, Some(body));
    row.awaiting_review = review_target(hub, &view.row).await;
    if let Some(plan) = row.task.clone().filter(|_| plans::is_plan(view)) {
        let sum = plans::compute_totals(hub, *plan, row.outcome).await?;
        apply_totals(&mut row, sum);
    } else if row.state == TaskState::Queued {
        row.unplaceable = hub.sessions.why_unschedulable(view);
        row.waits = ProjectLimits::load(hub, &view.project)
            .await?
            .why_waiting(view);
    }
    Ok(row)
}
