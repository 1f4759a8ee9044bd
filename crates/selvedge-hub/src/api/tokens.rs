//! API tokens: creating, listing and revoking them. A secret leaves the hub only once, in the response that
//! created it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use selvedge_protocol::{IssuedToken, TokenPage, TokenRequest};
use selvedge_store::hub::RevokeOutcome;
use serde::Deserialize;

use super::tasks::{BodyResult, read_body};
use super::views::token_row;
use crate::access::Caller;
use crate::auth::generate_token;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::service::{Actor, find_project, parse_json};
use crate::validate;

/// Parameters of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenParams {
    project: Option<String>,
}

/// The project whose tokens a request is about.
async fn administered_project(
    hub: &Hub,
    caller: &Caller,
    named: Option<String>,
) -> Result<String, ApiError> {
    let Some(named) = named.filter(|named| *named != caller.0.project) else {
        return Ok(caller.0.project.clone());
    };
    if !caller.is_of_default_project() {
        return Err(ApiError::other_project());
    }
    if find_project(hub, &named).await?.is_none() {
        let detail = format!("unknown project `{named}`");
        return Err(ApiError::field("project", detail));
    }
    Ok(named)
}

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    QueryParams(params): QueryParams<TokenParams>,
) -> Result<Json<TokenPage>, ApiError> {
    let project = administered_project(&hub, &caller, params.project).await?;
    let all = hub.store.list_tokens().await?;
    let own = all.iter().filter(|identity| identity.project == project);
    Ok(Json(TokenPage {
        tokens: own.map(token_row).collect(),
    }))
}

pub(super) async fn create_token(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: BodyResult,
) -> Result<Response, ApiError> {
    let request: TokenRequest = parse_json(&read_body(body)?)?;
    let name = validate::requested_name(&request.name)?;
    if request.scopes.is_empty() {
        return Err(ApiError::field("scopes", "must not be empty"));
    }
    let now = hub.store.now().await?;
    let lasts = request.expires_at.map(|at| at.as_millisecond() - now);
    if lasts.is_some_and(|lasts| lasts <= 0) {
        return Err(ApiError::field("expires_at", "must be in the future"));
    }
    let project = administered_project(&hub, &caller, request.project).await?;
    let mut generated = generate_token(name, &project, &request.scopes, lasts)
        .map_err(|_| ApiError::no_random_numbers())?;
    generated.identity.created_by = Actor::from(caller).into();
    let identity = hub.store.insert_token(generated.identity).await?;
    let issued = IssuedToken {
        token: generated.secret,
        row: token_row(&identity),
    };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, headers, Json(issued)).into_response())
}

pub(super) async fn revoke(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
) -> Result<StatusCode, ApiError> {
    let all = hub.store.list_tokens().await?;
    let found = all.iter().find(|identity| {
        let is_administered =
            caller.is_of_default_project() || identity.project == caller.0.project;
        is_administered && identity.token_id.to_string() == token
    });
    let found = found.ok_or_else(|| ApiError::not_found("token"))?;
    let id = found.token_id;
    match hub.store.revoke(id, Actor::from(caller).into()).await? {
        RevokeOutcome::Revoked => {}
        RevokeOutcome::NotFound => return Err(ApiError::not_found("token")),
        RevokeOutcome::LastAdministrator => {
            return Err(ApiError::conflict(
                "this is the last valid token of an administrator; create another one before you revoke it",
            ));
        }
    }
    hub.active_access.end_token(id);
    Ok(StatusCode::NO_CONTENT)
}
