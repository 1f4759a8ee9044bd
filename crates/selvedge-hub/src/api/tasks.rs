//! Tasks: submitting, listing, showing, stopping, trying again, deciding.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use selvedge_core::fleet::{
    CancelRequest, FieldError, ReviewDecision, ReviewRequest, SubmitAnswer, TaskPage, TaskRow,
    TaskState,
};
use selvedge_core::lease::Review;
use selvedge_core::model::{Outcome, ReviewTarget, Task, TaskId};
use selvedge_store::fault;
use selvedge_store::hub::{
    Answer, Change, HubStoreError, ListFilter, NewTask, Submitted, TaskView,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::new_task::new_task;
use super::views::task_row;
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::Refused;
use crate::review::{self, ReviewOrder};
use crate::{plans, validate};

const KEY: &str = "idempotency-key";

pub(super) type Bodied = Result<Bytes, BytesRejection>;

/// A body within its limit, or why not.
pub(super) fn bytes(body: Bodied) -> Result<Bytes, Refused> {
    body.map_err(|rejection| {
        let status = rejection.status();
        let kind = if status == StatusCode::PAYLOAD_TOO_LARGE {
            "too-large"
        } else {
            "body"
        };
        Refused::new(status, kind, rejection.body_text())
    })
}

pub(super) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        Refused::field(&field, error.into_inner().to_string())
    })
}

pub(super) fn id(text: &str) -> Result<TaskId, Refused> {
    text.parse().map_err(|_| Refused::not_found("task"))
}

/// The task, if the caller may know of it.
pub(super) async fn find(
    hub: &Hub,
    caller: &Caller,
    task: &str,
) -> Result<(TaskView, String), Refused> {
    let found = hub.store.task(id(task)?).await?;
    found
        .filter(|(view, _)| view.tenant == caller.0.tenant)
        .ok_or_else(|| Refused::not_found("task"))
}

pub(super) async fn submit(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Bodied,
) -> Result<Response, Refused> {
    let body = bytes(body)?;
    let checked = validate::task(&body, &hub.settings.defaults)?;
    let key = headers.get(KEY).map(|key| key.to_str().unwrap_or_default());
    if key.is_some_and(|key| key.is_empty() || key.len() > 200) {
        return Err(Refused::field(KEY, "is 1 to 200 visible characters"));
    }
    let hash: [u8; 32] = Sha256::digest(&body).into();
    let idempotency = key.map(|key| (key.to_owned(), hash));
    take(
        &hub,
        &caller,
        checked.task,
        None,
        checked.warnings,
        idempotency,
    )
    .await
}

async fn take(
    hub: &Hub,
    caller: &Caller,
    mut task: Task,
    retry_of: Option<TaskId>,
    mut warnings: Vec<String>,
    idempotency: Option<(String, [u8; 32])>,
) -> Result<Response, Refused> {
    let task_id = *task
        .task_id
        .get_or_insert_with(|| TaskId::new(Uuid::now_v7()));
    // Known from now on: whoever begins a subtask, and however often, begins the same one.
    for subtask in &mut task.subtasks {
        subtask.task_id = Some(TaskId::new(Uuid::now_v7()));
    }
    let new = new_task(&task, task_id, &caller.0.tenant, &caller.0.name);
    let new = NewTask {
        retry_of,
        idempotency,
        ..new.map_err(|error| Refused::bad_request(error.to_string()))?
    };
    let labels = task.labels.clone();
    let (task_id, repeated) = match hub.store.submit(new).await? {
        Submitted::New(id) => (id, false),
        Submitted::Again(id) => (id, true),
        Submitted::KeyTaken(id) => {
            return Err(Refused::conflict(format!(
                "the idempotency key was used for another request, which became task {id}"
            )));
        }
        Submitted::IdTaken => {
            return Err(Refused::conflict(
                "there is a task with this task_id already",
            ));
        }
    };
    fault::reached("hub.submit.committed");
    hub.changed(task_id);
    hub.wake.notify_one();
    if let Some(reason) = hub.sessions.unplaceable(&labels) {
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

/// What a list may be asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
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
    Query(asked): Query<Asked>,
) -> Result<Json<TaskPage>, Refused> {
    let (mut filter, limit) = filter(asked)?;
    filter.tenant = Some(caller.0.tenant);
    let page = hub.store.tasks(filter, limit).await?;
    let mut tasks: Vec<TaskRow> = page.tasks.iter().map(|view| task_row(view, None)).collect();
    for (row, view) in tasks.iter_mut().zip(&page.tasks) {
        if plans::is_plan(view) {
            sum_of_plan(&hub, row).await?;
        } else if row.state == TaskState::Queued {
            row.unplaceable = hub.sessions.unplaceable(&row.labels);
        }
    }
    let last = tasks.last().filter(|_| page.more);
    Ok(Json(TaskPage {
        next_cursor: last.map(|row| row.task_id.to_string()),
        tasks,
    }))
}

/// A plan has no attempts and costs of its own: its row shows those of its subtasks.
async fn sum_of_plan(hub: &Hub, row: &mut TaskRow) -> Result<(), Refused> {
    if let Some((_, body)) = hub.store.task(row.task_id).await? {
        add(
            row,
            plans::sum(hub, json(body.as_bytes())?, row.outcome).await?,
        );
        row.subtasks.clear();
    }
    Ok(())
}

fn add(row: &mut TaskRow, sum: plans::Sum) {
    row.attempts = sum.attempts;
    row.cost = sum.cost;
    row.tokens = sum.tokens.0.saturating_add(sum.tokens.1);
    row.subtasks = sum.subtasks;
}

fn filter(asked: Asked) -> Result<(ListFilter, usize), Refused> {
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
            None => wrong("state", &format!("no state is called {word:?}")),
        }
    }
    if let Some(word) = asked.outcome {
        match serde_json::from_value::<Outcome>(word.into()) {
            Ok(outcome) => filter.outcome = Some(outcome),
            Err(_) => wrong("outcome", "no outcome is called so"),
        }
    }
    let limit = match asked.limit.as_deref().map(str::parse::<usize>) {
        None => 50,
        Some(Ok(limit @ 1..=500)) => limit,
        Some(_) => {
            wrong("limit", "is a number from 1 to 500");
            0
        }
    };
    if let Some(cursor) = asked.cursor {
        match cursor.parse() {
            Ok(cursor) => filter.before = Some(cursor),
            Err(_) => wrong("cursor", "is what the page before said as `next_cursor`"),
        }
    }
    if errors.is_empty() {
        Ok((filter, limit))
    } else {
        Err(Refused::fields(errors))
    }
}

pub(super) async fn show(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<TaskRow>, Refused> {
    shown(&hub, &caller, &task).await.map(Json)
}

pub(super) async fn shown(hub: &Hub, caller: &Caller, task: &str) -> Result<TaskRow, Refused> {
    let (view, body) = find(hub, caller, task).await?;
    Ok(whole_row(hub, &view, &body).await?)
}

/// All of a task's row, with the subtasks of a plan.
pub(crate) async fn whole_row(
    hub: &Hub,
    view: &TaskView,
    body: &str,
) -> Result<TaskRow, HubStoreError> {
    let mut row = task_row(view, Some(body));
    row.awaiting_review = review::target(hub, &view.row).await;
    if let Some(plan) = row.task.clone().filter(|_| plans::is_plan(view)) {
        let sum = plans::sum(hub, *plan, row.outcome).await?;
        add(&mut row, sum);
    } else if row.state == TaskState::Queued {
        row.unplaceable = hub.sessions.unplaceable(&row.labels);
    }
    Ok(row)
}

pub(super) async fn cancel(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: Bodied,
) -> Result<(StatusCode, Json<TaskRow>), Refused> {
    let body = bytes(body)?;
    let asked: CancelRequest = if body.is_empty() {
        CancelRequest::default()
    } else {
        json(&body)?
    };
    let (view, _) = find(&hub, &caller, &task).await?;
    let change = Change::Cancel {
        by: caller.0.name.clone(),
        reason: asked.reason,
    };
    changed(&hub, id(&task)?, change).await?;
    fault::reached("hub.cancel.committed");
    if plans::is_plan(&view) {
        plans::cancelled(&hub, view.row.task_id).await?;
    }
    Ok((
        StatusCode::ACCEPTED,
        Json(shown(&hub, &caller, &task).await?),
    ))
}

pub(super) async fn retry(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let (view, body) = find(&hub, &caller, &task).await?;
    again(&hub, &caller, &view, &body, &headers).await
}

/// Makes a new task like one that is over.
pub(crate) async fn again(
    hub: &Hub,
    caller: &Caller,
    view: &TaskView,
    body: &str,
    headers: &HeaderMap,
) -> Result<Response, Refused> {
    if !view.row.lease.state.is_terminal() {
        return Err(Refused::conflict(format!(
            "the task is {}: only one that is over can be tried again",
            view.row.lease.state.as_str()
        )));
    }
    let mut again: Task = json(body.as_bytes())?;
    again.task_id = None;
    let of = view.row.task_id;
    let key = headers.get(KEY).and_then(|key| key.to_str().ok());
    let hash: [u8; 32] = Sha256::digest(format!("retry {of}")).into();
    let idempotency = key.map(|key| (key.to_owned(), hash));
    take(hub, caller, again, Some(of), Vec::new(), idempotency).await
}

pub(super) async fn review(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: Bodied,
) -> Result<Json<TaskRow>, Refused> {
    let asked: ReviewRequest = json(&bytes(body)?)?;
    let (view, _) = find(&hub, &caller, &task).await?;
    let review = match (asked.decision, asked.retry) {
        (ReviewDecision::Accept, true) => {
            let detail =
                "accepted work gets no other attempt: accept it, or reject it with `retry`";
            return Err(Refused::field("retry", detail));
        }
        (ReviewDecision::Accept, false) => Review::Accept,
        (ReviewDecision::Reject, false) => Review::Reject,
        (ReviewDecision::Reject, true) | (ReviewDecision::Retry, _) => Review::Retry,
    };
    if review != Review::Accept && asked.reason.trim().is_empty() {
        return Err(Refused::field(
            "reason",
            "says nothing: why is the work not right?",
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
    changed(&hub, view.row.task_id, change).await?;
    Ok(Json(shown(&hub, &caller, &task).await?))
}

/// Applies a person's change.
pub(crate) async fn changed(hub: &Hub, task: TaskId, change: Change) -> Result<(), Refused> {
    let verdict = hub.change(task, change).await?;
    match verdict.map(|verdict| verdict.answer) {
        None => Err(Refused::not_found("task")),
        Some(Answer::Done) => Ok(()),
        Some(Answer::Refused { detail, .. }) => Err(Refused::conflict(detail)),
    }
}
