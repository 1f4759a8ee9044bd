//! Webhooks: creating, listing and removing them, and the log of their deliveries. A secret leaves the hub only
//! once, in the response that created it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use selvedge_protocol::{
    DeliveryPage, DeliveryRow, DeliveryState, DeliveryTry, IssuedWebhook, WebhookFormat,
    WebhookPage, WebhookRequest, WebhookRow,
};
use selvedge_store::hub::{DeliveryRecord, NewWebhook, Webhook};
use serde::Deserialize;
use uuid::Uuid;

use super::tasks::{BodyResult, read_body};
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::service::{Actor, parse_json};
use crate::task_rows::timestamp;
use crate::validate;
use crate::webhooks::{SECRET_BYTES, parse_url, secret_text};

/// Maximum number of webhooks of a project: each adds a row to every change of a task's state.
const MAX_WEBHOOKS: usize = 50;
/// Default and maximum number of deliveries in a response.
const DEFAULT_DELIVERIES: usize = 50;
const MAX_DELIVERIES: usize = 500;

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<WebhookPage>, ApiError> {
    let webhooks = hub.store.webhooks(caller.0.project).await?;
    Ok(Json(WebhookPage {
        webhooks: webhooks.iter().map(webhook_row).collect(),
    }))
}

pub(super) async fn create(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: BodyResult,
) -> Result<Response, ApiError> {
    let request: WebhookRequest = parse_json(&read_body(body)?)?;
    let name = validate::requested_name(&request.name)?;
    if request.url.len() > 2_000 {
        return Err(ApiError::field("url", "must be at most 2000 characters"));
    }
    let url = parse_url(&request.url, hub.settings.webhooks_allow_private)
        .map_err(|error| ApiError::field("url", error.to_string()))?;
    let existing = hub.store.webhooks(caller.0.project.clone()).await?;
    if existing.len() >= MAX_WEBHOOKS {
        return Err(ApiError::conflict(format!(
            "there are already {MAX_WEBHOOKS} webhooks; remove one first"
        )));
    }
    let mut secret = vec![0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(|_| ApiError::no_random_numbers())?;
    let webhook_id = Uuid::now_v7();
    let new = NewWebhook {
        webhook_id,
        project: caller.0.project.clone(),
        name: name.to_owned(),
        url: url.to_string(),
        format: request.format,
        events: request.events,
        secret: secret.clone(),
    };
    let by = Actor::from(caller.clone()).into();
    hub.store.insert_webhook(new, by).await?;
    let issued = IssuedWebhook {
        secret: secret_text(&secret),
        row: webhook_row(&find(&hub, &caller, &webhook_id.to_string()).await?),
    };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, headers, Json(issued)).into_response())
}

pub(super) async fn remove(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(webhook): Path<String>,
) -> Result<StatusCode, ApiError> {
    let found = find(&hub, &caller, &webhook).await?;
    let by = Actor::from(caller).into();
    hub.store.delete_webhook(found.webhook_id, by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parameters of the log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeliveryParams {
    limit: Option<usize>,
}

pub(super) async fn list_deliveries(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(webhook): Path<String>,
    QueryParams(params): QueryParams<DeliveryParams>,
) -> Result<Json<DeliveryPage>, ApiError> {
    let found = find(&hub, &caller, &webhook).await?;
    let limit = params.limit.unwrap_or(DEFAULT_DELIVERIES);
    let limit = limit.clamp(1, MAX_DELIVERIES);
    let deliveries = hub.store.deliveries(found.webhook_id, limit).await?;
    Ok(Json(DeliveryPage {
        deliveries: deliveries.into_iter().map(delivery_row).collect(),
    }))
}

async fn find(hub: &Hub, caller: &Caller, webhook: &str) -> Result<Webhook, ApiError> {
    let all = hub.store.webhooks(caller.0.project.clone()).await?;
    let found = all
        .into_iter()
        .find(|it| it.webhook_id.to_string() == webhook);
    found.ok_or_else(|| ApiError::not_found("webhook"))
}

fn webhook_row(webhook: &Webhook) -> WebhookRow {
    WebhookRow {
        id: webhook.webhook_id.to_string(),
        name: webhook.name.clone(),
        url: visible_url(&webhook.url, webhook.format),
        events: webhook.events.clone(),
        format: webhook.format,
        created_at: timestamp(webhook.created_at),
    }
}

/// The URL without its secret part: the path of such a webhook is enough to send messages.
fn visible_url(url: &str, format: WebhookFormat) -> String {
    let parsed = reqwest::Url::parse(url);
    match (format, parsed) {
        (WebhookFormat::Json, _) => url.to_owned(),
        (_, Ok(parsed)) => format!("{}/…", parsed.origin().ascii_serialization()),
        (_, Err(_)) => String::new(),
    }
}

fn delivery_row(record: DeliveryRecord) -> DeliveryRow {
    let state = match (record.due_at, record.is_delivered) {
        (Some(_), _) => DeliveryState::Pending,
        (None, true) => DeliveryState::Delivered,
        (None, false) => DeliveryState::Failed,
    };
    let tries = record.tries.into_iter().map(|tried| DeliveryTry {
        at: timestamp(tried.at),
        status: tried.answer.status,
        error: tried.answer.error,
        duration_ms: tried.answer.duration_ms,
    });
    DeliveryRow {
        id: record.message_id,
        event: record.event,
        task_id: record.task_id,
        at: timestamp(record.at),
        state,
        next_try_at: record.due_at.map(timestamp),
        tries: tries.collect(),
    }
}
