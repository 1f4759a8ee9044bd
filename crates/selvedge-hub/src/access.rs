//! The gate before every request: the name that it was sent to, where a browser sent it from, who
//! asks, how often, and whether they may.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use selvedge_core::fleet::Scope;
use selvedge_store::hub::Identity;
use tokio::time::timeout;

use crate::auth;
use crate::hub::Hub;
use crate::problem::Refused;

/// Who asks; in every request that a scope guards.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Identity);

/// Exact names only, and a time for everything: outermost, for all routes.
pub(crate) async fn addressed(
    State(hub): State<Arc<Hub>>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(refused) = named(&hub, request.headers()) {
        return refused.into_response();
    }
    match timeout(hub.settings.patience, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Refused::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            "the request took too long",
        )
        .into_response(),
    }
}

fn named(hub: &Hub, headers: &HeaderMap) -> Result<(), Refused> {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let known = |name: &str| {
        hub.settings
            .hosts
            .iter()
            .any(|host| host.eq_ignore_ascii_case(name))
    };
    match host {
        Some(host) if known(host) => {}
        _ => {
            return Err(Refused::new(
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                "this hub is not known by that name: `--host` names those that it answers to",
            ));
        }
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let scheme = if hub.settings.https {
        "https://"
    } else {
        "http://"
    };
    let own = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.strip_prefix(scheme))
        .is_some_and(known);
    if own {
        return Ok(());
    }
    Err(Refused::new(
        StatusCode::FORBIDDEN,
        "origin",
        "pages of another origin may not use this hub",
    ))
}

/// Lets through who may do what needs one of these scopes.
pub(crate) async fn guarded(
    hub: Arc<Hub>,
    scopes: &'static [Scope],
    mut request: Request,
    next: Next,
) -> Response {
    let from = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    match admit(&hub, scopes, request.headers(), from).await {
        Ok(identity) => {
            request.extensions_mut().insert(Caller(identity));
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    }
}

async fn admit(
    hub: &Hub,
    scopes: &[Scope],
    headers: &HeaderMap,
    from: IpAddr,
) -> Result<Identity, Refused> {
    let secret = bearer(headers)
        .ok_or_else(|| unauthorized("a token is needed: `Authorization: Bearer …`"))?;
    let identity = hub.identify(secret, from).await?;
    if !hub.limits.request(identity.token_id) {
        return Err(too_many("this token asks too often"));
    }
    if !scopes.iter().any(|scope| auth::may(&identity, *scope)) {
        let words: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "scope",
            format!("this token lacks the scope `{}`", words.join("` or `")),
        ));
    }
    hub.used(identity.token_id).await;
    Ok(identity)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(secret.trim())
}

fn unauthorized(detail: &str) -> Refused {
    Refused::new(StatusCode::UNAUTHORIZED, "token", detail)
}

fn too_many(detail: &str) -> Refused {
    Refused::new(StatusCode::TOO_MANY_REQUESTS, "rate", detail)
}

impl Hub {
    /// Whose secret this is, as long as it is neither revoked nor expired.
    pub(crate) async fn identify(&self, secret: &str, from: IpAddr) -> Result<Identity, Refused> {
        // First: who has a token is not kept out by those who guess from the same address, or proxy.
        if let Some(identity) = self.store.by_hash(auth::hash(secret)).await? {
            return Ok(identity);
        }
        if !self.limits.may_guess(from) {
            return Err(too_many("too many wrong tokens from this address"));
        }
        self.limits.guessed(from);
        Err(unauthorized(
            "this token is not known, was revoked, or has expired",
        ))
    }

    /// Whose secret this is and whether they may do what needs `scope`: for pages, whose cookie holds
    /// a token.
    pub async fn check(&self, secret: &str, scope: Scope, from: IpAddr) -> Option<Identity> {
        let identity = self.identify(secret, from).await.ok()?;
        auth::may(&identity, scope).then_some(identity)
    }
}
