//! Checks of every request: the host name that it was sent to, the origin of a browser's request, the token,
//! the rate limit and the token's scopes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use selvedge_dashboard::web::end_stream_with;
use selvedge_protocol::{DEFAULT_PROJECT, Scope};
use selvedge_store::hub::{ApiToken, AuditChannel};
use tokio::time::timeout;

use crate::active_access::AccessKey;
use crate::auth;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::service::Actor;

/// The token of a request; present in every request to an operation that needs a scope.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) ApiToken);

impl Caller {
    /// Whether the token belongs to the project whose administrators administer all projects, and whose workers take
    /// the tasks of all projects.
    pub(crate) fn is_of_default_project(&self) -> bool {
        self.0.project == DEFAULT_PROJECT
    }
}

impl From<Caller> for Actor {
    fn from(Caller(token): Caller) -> Self {
        Self {
            project: token.project,
            name: token.name,
            token_id: Some(token.token_id),
            person: None,
            channel: AuditChannel::Api,
        }
    }
}

/// Paths that answer to any host name: load balancers and scrapers use addresses. They need no cookie, and
/// reveal nothing without a token.
const PROBE_PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The outermost middleware of all routes: accepts only known host names, and limits the time.
pub(crate) async fn check_host(
    State(hub): State<Arc<Hub>>,
    request: Request,
    next: Next,
) -> Response {
    let is_probe = PROBE_PATHS.contains(&request.uri().path());
    if !is_probe && let Err(refused) = verify_host_headers(&hub, request.headers()) {
        return refused.into_response();
    }
    match timeout(hub.settings.patience, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            "the request took too long",
        )
        .into_response(),
    }
}

fn verify_host_headers(hub: &Hub, headers: &HeaderMap) -> Result<(), ApiError> {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let is_known_host = |name: &str| {
        hub.settings
            .hosts
            .iter()
            .any(|host| host.eq_ignore_ascii_case(name))
    };
    match host {
        Some(host) if is_known_host(host) => {}
        _ => {
            return Err(ApiError::new(
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                "unknown host name; start the hub with `--host NAME` to accept it",
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
        .is_some_and(is_known_host);
    if own {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        "origin",
        "cross-origin requests are rejected",
    ))
}

/// Accepts requests whose token has one of these scopes.
pub(crate) async fn require_scope(
    hub: Arc<Hub>,
    scopes: &'static [Scope],
    mut request: Request,
    next: Next,
) -> Response {
    let from = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
    match authenticate(&hub, scopes, request.headers(), from).await {
        Ok(identity) => {
            let key = AccessKey {
                token_id: Some(identity.token_id),
                session_id: None,
            };
            request.extensions_mut().insert(Caller(identity));
            let response = next.run(request).await;
            end_stream_with(response, || {
                let mut guard = hub.active_access.open(key);
                async move { guard.ended().await }
            })
        }
        Err(refused) => refused.into_response(),
    }
}

async fn authenticate(
    hub: &Hub,
    scopes: &[Scope],
    headers: &HeaderMap,
    from: IpAddr,
) -> Result<ApiToken, ApiError> {
    let secret = bearer_token(headers)
        .ok_or_else(|| unauthorized("missing token; send `Authorization: Bearer TOKEN`"))?;
    let identity = hub.identify(secret, from).await?;
    if !hub.limits.allow_request(identity.token_id) {
        return Err(too_many_requests("too many requests with this token"));
    }
    if !scopes
        .iter()
        .any(|scope| auth::has_scope(&identity, *scope))
    {
        let scope_names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "scope",
            format!(
                "this token lacks the scope `{}`",
                scope_names.join("` or `")
            ),
        ));
    }
    hub.record_token_use(identity.token_id).await;
    Ok(identity)
}

pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(secret.trim())
}

fn unauthorized(detail: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "token", detail)
}

fn too_many_requests(detail: &str) -> ApiError {
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate", detail)
}

impl Hub {
    /// The token of a secret, unless it is revoked or expired.
    pub(crate) async fn identify(&self, secret: &str, from: IpAddr) -> Result<ApiToken, ApiError> {
        // Checked first: a valid token is not blocked by wrong guesses from the same address or proxy.
        if let Some(identity) = self
            .store
            .find_token_by_hash(auth::hash_secret(secret))
            .await?
        {
            return Ok(identity);
        }
        if !self.limits.allow_guess(from) {
            return Err(too_many_requests(
                "too many invalid tokens from this address",
            ));
        }
        self.limits.record_wrong_guess(from);
        Err(unauthorized("invalid token: unknown, revoked or expired"))
    }
}
