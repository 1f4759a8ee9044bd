//! Tasks: submitting, listing, showing, cancelling, resubmitting and reviewing them.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use selvedge_core::model::{Outcome, ReviewTarget};
use selvedge_protocol::{
    BulkRetryAnswer, BulkRetryRequest, CancelRequest, FieldError, ReviewDecision, ReviewRequest,
    SubmitAnswer, TaskPage, TaskRow, TaskState,
};
use selvedge_store::hub::ListFilter;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::service::{self, Actor, ReviewOrder, Submission, parse_json};
use crate::validate;

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
    let submission = Submission {
        task: checked.task,
        warnings: checked.warnings,
        retry_of: None,
        idempotency: key.map(|key| (key.to_owned(), hash)),
    };
    let answer = service::submit(&hub, &Actor::from(caller), submission).await?;
    Ok(created_response(answer))
}

fn created_response(answer: SubmitAnswer) -> Response {
    let location = format!("/api/v1/tasks/{}", answer.task_id);
    (StatusCode::CREATED, [("location", location)], Json(answer)).into_response()
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
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Json<TaskPage>, ApiError> {
    let (filter, limit) = parse_filter(params)?;
    let page = service::list(&hub, &Actor::from(caller), filter, limit).await?;
    Ok(Json(page))
}

fn parse_filter(params: ListParams) -> Result<(ListFilter, usize), ApiError> {
    let mut errors = Vec::new();
    let mut invalid = |field: &str, detail: &str| {
        errors.push(FieldError {
            field: field.to_owned(),
            detail: detail.to_owned(),
        });
    };
    let mut filter = ListFilter {
        agent: params.agent,
        worker: params.worker,
        label: params.label,
        text: params.q,
        ..ListFilter::default()
    };
    for word in params.state.iter().flat_map(|words| words.split(',')) {
        match TaskState::parse(word.trim()) {
            Some(state) => filter.states.push(state),
            None => invalid("state", &format!("unknown state {word:?}")),
        }
    }
    if let Some(word) = params.outcome {
        match serde_json::from_value::<Outcome>(word.into()) {
            Ok(outcome) => filter.outcome = Some(outcome),
            Err(_) => invalid("outcome", "unknown outcome"),
        }
    }
    let limit = match params.limit.as_deref().map(str::parse::<usize>) {
        None => 50,
        Some(Ok(limit @ 1..=500)) => limit,
        Some(_) => {
            invalid("limit", "must be a number from 1 to 500");
            0
        }
    };
    if let Some(cursor) = params.cursor {
        match cursor.parse() {
            Ok(cursor) => filter.before = Some(cursor),
            Err(_) => invalid("cursor", "must be the `next_cursor` of the previous page"),
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
    let row = service::show(&hub, &Actor::from(caller), &task).await?;
    Ok(Json(row))
}

pub(super) async fn cancel(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: BodyResult,
) -> Result<(StatusCode, Json<TaskRow>), ApiError> {
    let body = read_body(body)?;
    let request: CancelRequest = if body.is_empty() {
        CancelRequest::default()
    } else {
        parse_json(&body)?
    };
    let actor = Actor::from(caller);
    service::cancel(&hub, &actor, &task, request.reason).await?;
    let row = service::show(&hub, &actor, &task).await?;
    Ok((StatusCode::ACCEPTED, Json(row)))
}

pub(super) async fn retry(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = headers
        .get(IDEMPOTENCY_HEADER)
        .and_then(|key| key.to_str().ok());
    let answer = service::retry(&hub, &Actor::from(caller), &task, key).await?;
    Ok(created_response(answer))
}

pub(super) async fn retry_all(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: BodyResult,
) -> Result<Json<BulkRetryAnswer>, ApiError> {
    let body = read_body(body)?;
    let request: BulkRetryRequest = if body.is_empty() {
        BulkRetryRequest::default()
    } else {
        parse_json(&body)?
    };
    let answer = service::retry_all(&hub, &Actor::from(caller), bulk_filter(request)?).await?;
    Ok(Json(answer))
}

fn bulk_filter(request: BulkRetryRequest) -> Result<ListFilter, ApiError> {
    let mut states = request.states;
    if let Some(open) = states.iter().find(|state| !state.is_terminal()) {
        let open = open.as_str();
        let detail = format!("tasks that are {open} are not finished and cannot be retried");
        return Err(ApiError::field("states", detail));
    }
    if states.is_empty() {
        states.push(TaskState::Dead);
    }
    Ok(ListFilter {
        states,
        agent: request.agent,
        worker: request.worker,
        label: request.label,
        text: request.q,
        before: request.cursor,
        ..ListFilter::default()
    })
}

pub(super) async fn review(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    body: BodyResult,
) -> Result<Json<TaskRow>, ApiError> {
    let order = review_order(parse_json(&read_body(body)?)?)?;
    let actor = Actor::from(caller);
    service::review(&hub, &actor, &task, order).await?;
    let row = service::show(&hub, &actor, &task).await?;
    Ok(Json(row))
}

fn review_order(request: ReviewRequest) -> Result<ReviewOrder, ApiError> {
    let decision = match (request.decision, request.retry) {
        (ReviewDecision::Accept, true) => {
            let detail = "cannot accept and retry; accept, or reject with `retry`";
            return Err(ApiError::field("retry", detail));
        }
        (ReviewDecision::Reject, true) => ReviewDecision::Retry,
        (decision, _) => decision,
    };
    Ok(ReviewOrder {
        decision,
        stated_by: request.by,
        reason: request.reason,
        named: ReviewTarget {
            attempt: request.attempt,
            tree: request.tree,
        },
    })
}
