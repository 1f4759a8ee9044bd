//! Tokens: making, listing, revoking. A secret leaves the hub once, in the answer that made it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use selvedge_core::fleet::{IssuedToken, TokenPage, TokenRequest};

use super::tasks::{Bodied, bytes, json};
use super::views::token_row;
use crate::access::Caller;
use crate::auth::mint;
use crate::hub::Hub;
use crate::problem::Refused;

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<TokenPage>, Refused> {
    let all = hub.store.identities().await?;
    let own = all
        .iter()
        .filter(|identity| identity.tenant == caller.0.tenant);
    Ok(Json(TokenPage {
        tokens: own.map(token_row).collect(),
    }))
}

pub(super) async fn make(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: Bodied,
) -> Result<Response, Refused> {
    let asked: TokenRequest = json(&bytes(body)?)?;
    let name = asked.name.trim();
    if name.is_empty() || name.len() > 100 || name.contains(char::is_control) {
        return Err(Refused::field(
            "name",
            "is 1 to 100 characters, none of control",
        ));
    }
    if asked.scopes.is_empty() {
        return Err(Refused::field(
            "scopes",
            "names nothing that the token may do",
        ));
    }
    let now = hub.store.now().await?;
    let lasts = asked.expires_at.map(|at| at.as_millisecond() - now);
    if lasts.is_some_and(|lasts| lasts <= 0) {
        return Err(Refused::field("expires_at", "is past"));
    }
    let minted = mint(name, &caller.0.tenant, &asked.scopes, lasts).map_err(|_| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Refused::new(status, "random", "the system has no random numbers now")
    })?;
    let identity = hub.store.admit(minted.identity).await?;
    let issued = IssuedToken {
        token: minted.secret,
        row: token_row(&identity),
    };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, headers, Json(issued)).into_response())
}

pub(super) async fn revoke(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(token): Path<String>,
) -> Result<StatusCode, Refused> {
    let all = hub.store.identities().await?;
    let found = all.iter().find(|identity| {
        identity.tenant == caller.0.tenant && identity.token_id.to_string() == token
    });
    let found = found.ok_or_else(|| Refused::not_found("token"))?;
    hub.store.revoke(found.token_id).await?;
    hub.sessions.revoked(found.token_id);
    Ok(StatusCode::NO_CONTENT)
}
