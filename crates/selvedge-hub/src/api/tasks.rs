//! Tasks: submitting, listing, showing, cancelling, resubmitting and reviewing them.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use selvedge_core::lease::ReviewAction;
use selvedge_core::model::{Outcome, ReviewTarget, Task, TaskId};
use selvedge_core::protocol::{
    CancelRequest, FieldError, ReviewDecision, ReviewRequest, SubmitAnswer, TaskPage, TaskRow,
    TaskState,
};
use selvedge_store::fault;
use selvedge_store::hub::{
    ChangeAnswer, HubStoreError, ListFilter, NewTask, SubmitOutcome, TaskChange, TaskView,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::new_task::new_task;
use super::views::task_row;
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::review::{self, ReviewOrder};
use crate::{plans, validate};

const IDEMPOTENCY_HEADER: &str = "idempotency-key";

pub(super) type BodyResult = Result<Bytes, BytesRejection>;

/// Reads a body within its limit, or returns the error.
pub(super) fn read_body(body: BodyResult) -> Result<Bytes, ApiError> {
    body.map_err(|rejection| {
        let status = rejection.status();
        let kind = if status == StatusCode::PAYLOAD_TOO_LARGE {
            "too-large"
        } else {
            "body"
        };
        ApiError::new(status, kind, rejection.body_text())
    })
}

pub(super) fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        ApiError::field(&field, error.into_inner().to_string())
    })
}

pub(super) fn parse_task_id(text: &str) -> Result<TaskId, ApiError> {
    text.parse().map_err(|_| ApiError::not_found("task"))
}

/// The task, if the caller may see it.
pub(super) async fn find_task(
    hub: &Hub,
    caller: &Caller,
    task: &str,
) -> Result<(TaskView, String), ApiError> {
    let found = hub.store.task(parse_task_id(task)?).await?;
    found
        .filter(|(view, _)| view.tenant == caller.0.tenant)
        .ok_or_else(|| ApiError::not_found("task"))
}

pub(super) async fn submit(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, ApiError> {
    let body = read_body(body)?;
    let checked = validate::task(&body, &hub.settings.defaults)?;
    let key = headers
        .get(IDEMPOTENCY_HEADER)
        .map(|key| key.to_str().unwrap_or_default());
    if key.is_some_and(|key| key.is_empty() || key.len() > 200) {
        return Err(ApiError::field(
            IDEMPOTENCY_HEADER,
            "must be 1 to 200 visible characters",
        ));
    }
    let hash: [u8; 32] = Sha256::digest(&body).into();
    let idempotency = key.map(|key| (key.to_owned(), hash));
    enqueue_task(
        &hub,
        &caller,
        checked.task,
        None,
        checked.warnings,
        idempotency,
    )
    .await
}

async fn enqueue_task(
    hub: &Hub,
    caller: &Caller,
    mut task: Task,
    retry_of: Option<TaskId>,
    mut warnings: Vec<String>,
    idempotency: Option<(String, [u8; 32])>,
) -> Result<Response, ApiError> {
    let task_id = *task
        .task_id
        .get_or_insert_with(|| TaskId::new(Uuid::now_v7()));
    // Ids are fixed now, so that a subtask is started only once, however often and by whichever hub.
    for subtask in &mut task.subtasks {
        subtask.task_id = Some(TaskId::new(Uuid::now_v7()));
    }
    let new = new_task(&task, task_id, &caller.0.tenant, &caller.0.name);
    let new = NewTask {
        retry_of,
        idempotency,
        ..new.map_err(|error| ApiError::bad_request(error.to_string()))?
    };
    let labels = task.labels.clone();
    let (task_id, repeated) = match hub.store.submit(new).await? {
        SubmitOutcome::New(id) => (id, false),
        SubmitOutcome::Duplicate(id) => (id, true),
        SubmitOutcome::IdempotencyConflict(id) => {
            return Err(ApiError::conflict(format!(
                "the idempotency key was already used for a different request (task {id})"
            )));
        }
        SubmitOutcome::IdTaken => {
            return Err(ApiError::conflict(
                "a task with this task_id already exists",
            ));
        }
    };
    fault::failpoint("hub.submit.committed");
    hub.notify_changed(task_id);
    hub.wake.notify_one();
    if let Some(reason) = hub.sessions.why_unschedulable(&labels) {
        warnings.push(reason);
    }
    let state = if repeated {
        let found = hub.store.task(task_id).await?;
        found.map_or(TaskState::Queued, |(view, _)| view.row.lease.state)
    } else {
        TaskState::Queued
    };
    let answer = SubmitAnswer {
        task_id,
        state,
        warnings,
        repeated,
    };
    let place = format!("/api/v1/tasks/{task_id}");
    Ok((StatusCode::CREATED, [("location", place)], Json(answer)).into_response())
}

/// List query parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListParams {
    state: Option<String>,
    outcome: Option<String>,
    agent: Option<String>,
    worker: Option<String>,
    label: Option<String>,
    q: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<ListParams>,
) -> Result<Json<TaskPage>, ApiError> {
    let (mut filter, limit) = parse_filter(asked)?;
    filter.tenant = Some(caller.0.tenant);
    let page = hub.store.tasks(filter, limit).await?;
    let mut tasks: Vec<TaskRow> = page.tasks.iter().map(|view| task_row(view, None)).collect();
    for (row, view) in tasks.iter_mut().zip(&page.tasks) {
        if plans::is_plan(view) {
            add_plan_totals(&hub, row).await?;
        } else if row.state == TaskState::Queued {
            row.unplaceable = hub.sessions.why_unschedulable(&row.labels);
        }
    }
    let last = tasks.last().filter(|_| page.more);
    Ok(Json(TaskPage {
        next_cursor: last.map(|row| row.task_id.to_string()),
        tasks,
    }))
}

/// Adds the totals of its subtasks to a plan's row: a plan has no attempts and costs of its own.
async fn add_plan_totals(hub: &Hub, row: &mut TaskRow) -> Result<(), ApiError> {
    if let Some((_, body)) = hub.store.task(row.task_id).await? {
        apply_totals(
            row,
            plans::compute_totals(hub, parse_json(body.as_bytes())?, row.outcome).await?,
        );
        row.subtasks.clear();
    }
    Ok(())
}

fn apply_totals(row: &mut TaskRow, sum: plans::PlanTotals) {
    row.attempts = sum.attempts;
    row.cost = sum.cost;
    row.tokens = sum.tokens.0.saturating_add(sum.tokens.1);
    row.subtasks = sum.subtasks;
}

fn parse_filter(asked: ListParams) -> Result<(ListFilter, usize), ApiError> {
    let mut errors = Vec::new();
    let mut wrong = |field: &str, detail: &str| {
        errors.push(FieldError {
            field: field.to_owned(),
            detail: detail.to_owned(),
        });
    };
    let mut filter = ListFilter {
        agent: asked.agent,
        worker: asked.worker,
        label: asked.label,
        text: asked.q,
        ..ListFilter::default()
    };
    for word in asked.state.iter().flat_map(|words| words.split(',')) {
        match TaskState::parse(word.trim()) {
            Some(state) => filter.states.push(state),
            None => wrong("state", &format!("unknown state {word:?}")),
        }
    }
    if let Some(word) = asked.outcome {
        match serde_json::from_value::<Outcome>(word.into()) {
            Ok(outcome) => filter.outcome = Some(outcome),
            Err(_) => wrong("outcome", "unknown outcome"),
        }
    }
    let limit = match asked.limit.as_deref().map(str::parse::<usize>) {
        None => 50,
        Some(Ok(limit @ 1..=500)) => limit,
        Some(_) => {
            wrong("limit", "must be a number from 1 to 500");
            0
        }
    };
    if let Some(cursor) = asked.cursor {
        match cursor.parse() {
            Ok(cursor) => filter.before = Some(cursor),
            Err(_) => wrong("cursor", "must be the `next_cursor` of the previous page"),
        }
    }
    if errors.is_empty() {
        Ok((filter, limit))
    } else {
        Err(ApiError::fields(errors))
    }
}

pub(super) async fn show(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<TaskRow>, ApiError> {
    load_row(&hub, &caller, &task).await.map(Json)
}

pub(super) async fn load_row(hub: &Hub, caller: &Caller, task: &str) -> Result<TaskRow, ApiError> {
    let (view, body) = find_task(hub, caller, task).await?;
    Ok(full_row(hub, &view, &body).await?)
}

/// The complete row of a task, with the subtasks of a plan.
pub(crate) async fn full_row(
    hub: &Hub,
    view: &TaskView,
    body: &str,
) -> Result<TaskRow, HubStoreError> {
    let mut row = task_row(view, Some(body));
    row.awaiting_review = review::target(hub, &view.row).await;
    if let Some(plan) = row.task.clone().filter(|_| plans::is_plan(view)) {
        let sum = plans::compute_totals(hub, *plan, row.outcome).await?;
        apply_totals(&mut row, sum);
    } else if row.state == TaskState::Queued {
        row.unplaceable = hub.sessions.why_unschedulable(&row.labels);
    }
    Ok(row)
}

pub(super) async fn cancel(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: BodyResult,
) -> Result<(StatusCode, Json<TaskRow>), ApiError> {
    let body = read_body(body)?;
    let asked: CancelRequest = if body.is_empty() {
        CancelRequest::default()
    } else {
        parse_json(&body)?
    };
    let (view, _) = find_task(&hub, &caller, &task).await?;
    let change = TaskChange::Cancel {
        by: caller.0.name.clone(),
        reason: asked.reason,
    };
    apply_change(&hub, parse_task_id(&task)?, change).await?;
    fault::failpoint("hub.cancel.committed");
    if plans::is_plan(&view) {
        plans::cancel_plan_work(&hub, view.row.task_id).await?;
    }
    Ok((
        StatusCode::ACCEPTED,
        Json(load_row(&hub, &caller, &task).await?),
    ))
}

pub(super) async fn retry(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (view, body) = find_task(&hub, &caller, &task).await?;
    resubmit_task(&hub, &caller, &view, &body, &headers).await
}

/// Creates a new task from a finished one.
pub(crate) async fn resubmit_task(
    hub: &Hub,
    caller: &Caller,
    view: &TaskView,
    body: &str,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    if !view.row.lease.state.is_terminal() {
        return Err(ApiError::conflict(format!(
            "the task is {}; only a finished task can be retried",
            view.row.lease.state.as_str()
        )));
    }
    let mut again: Task = parse_json(body.as_bytes())?;
    again.task_id = None;
    let of = view.row.task_id;
    let key = headers
        .get(IDEMPOTENCY_HEADER)
        .and_then(|key| key.to_str().ok());
    let hash: [u8; 32] = Sha256::digest(format!("retry {of}")).into();
    let idempotency = key.map(|key| (key.to_owned(), hash));
    enqueue_task(hub, caller, again, Some(of), Vec::new(), idempotency).await
}

pub(super) async fn review(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: BodyResult,
) -> Result<Json<TaskRow>, ApiError> {
    let asked: ReviewRequest = parse_json(&read_body(body)?)?;
    let (view, _) = find_task(&hub, &caller, &task).await?;
    let review = match (asked.decision, asked.retry) {
        (ReviewDecision::Accept, true) => {
            let detail = "cannot accept and retry; accept, or reject with `retry`";
            return Err(ApiError::field("retry", detail));
        }
        (ReviewDecision::Accept, false) => ReviewAction::Accept,
        (ReviewDecision::Reject, false) => ReviewAction::Reject,
        (ReviewDecision::Reject, true) | (ReviewDecision::Retry, _) => ReviewAction::Retry,
    };
    if review != ReviewAction::Accept && asked.reason.trim().is_empty() {
        return Err(ApiError::field(
            "reason",
            "must not be empty: why is the work rejected?",
        ));
    }
    let order = ReviewOrder {
        review,
        by: caller.0.name.clone(),
        stated_by: asked.by.filter(|name| *name != caller.0.name),
        reason: asked.reason,
        named: ReviewTarget {
            attempt: asked.attempt,
            tree: asked.tree,
        },
    };
    let change = review::change(&hub, &view.row, order).await?;
    apply_change(&hub, view.row.task_id, change).await?;
    Ok(Json(load_row(&hub, &caller, &task).await?))
}

/// Applies a change that a user requested.
pub(crate) async fn apply_change(
    hub: &Hub,
    task: TaskId,
    change: TaskChange,
) -> Result<(), ApiError> {
    let verdict = hub.change(task, change).await?;
    match verdict.map(|verdict| verdict.answer) {
        None => Err(ApiError::not_found("task")),
        Some(ChangeAnswer::Applied) => Ok(()),
        Some(ChangeAnswer::Refused { detail, .. }) => Err(ApiError::conflict(detail)),
    }
}
