//! The dashboard over HTTP: routes, authentication and security headers. The same for `selvedge ui` and for
//! the hub.
//!
//! Invariants: without a login only the login page, the assets and the icon are served; nothing is changed
//! without the user's own form token and our own origin; no response allows a foreign script, or a request to
//! another host.

#![expect(
    clippy::result_large_err,
    reason = "a response is built once and sent in either case"
)]

mod actions;
mod auth;
mod change_cache;
mod error_pages;
mod events;
mod headers;
mod held_decisions;
mod logs;
mod outputs;
mod respond;
mod stream;
mod submit;
mod theme;
mod views;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate as _};

use self::change_cache::ChangeCache;
use self::held_decisions::HeldDecisions;
use crate::assets;
use crate::backend::{DashboardBackend, DashboardError, DashboardUser};

pub use error_pages::with_error_pages;
pub use headers::AllowedHosts;
pub use stream::end_stream_with;

/// Version of this program, as named in exported reports.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How users log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginMethod {
    /// By a one-time link.
    OneTimeLink,
    /// By entering a token.
    Token,
}

/// Why a login was rejected; shown on the login page.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The token does not give access.
    #[error("Invalid token: unknown, revoked, expired or without the scope `read`.")]
    InvalidToken,
    /// The link was never issued, or too long ago.
    #[error("Invalid link.")]
    InvalidLink,
    /// The one-time link was used before.
    #[error("This link was already used. The terminal shows a new one.")]
    UsedLink,
    /// The answer of an identity provider does not belong to a sign-in of this browser; contains a hint.
    #[error("{0}")]
    UnknownSignIn(String),
    /// The user may not log in; contains the reason.
    #[error("{0}")]
    Refused(String),
    /// Sessions cannot be created or read now; contains the reason.
    #[error("{0}")]
    Unavailable(String),
}

impl LoginError {
    /// The status of the answer.
    fn status(&self) -> StatusCode {
        match self {
            Self::InvalidToken | Self::InvalidLink | Self::UsedLink => StatusCode::UNAUTHORIZED,
            Self::UnknownSignIn(_) => StatusCode::BAD_REQUEST,
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Decides who may log in.
pub trait Authenticator: Send + Sync {
    /// How users log in.
    fn login_method(&self) -> LoginMethod;

    /// Login at an identity provider, in addition to tokens.
    fn single_sign_on(&self) -> Option<&dyn SingleSignOn> {
        None
    }

    /// Name of the cookie: different for every dashboard that a browser may know under one host.
    fn cookie_name(&self) -> &str;

    /// Whether the cookie is sent over encrypted connections only.
    fn is_secure(&self) -> bool;

    /// Logs a user in by their secret. Returns the cookie's value.
    fn log_in<'a>(
        &'a self,
        secret: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<String, LoginError>>;

    /// The user of a cookie's value.
    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<Option<DashboardUser>, LoginError>>;

    /// Invalidates a cookie's value, where that is possible.
    fn log_out<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, Result<(), LoginError>>;

    /// Returns once a user's access has ended: then their event streams end.
    fn access_ended(&self, user: &DashboardUser) -> BoxFuture<'static, ()> {
        let _ = user;
        Box::pin(std::future::pending())
    }
}

/// Login at an identity provider, which redirects the browser back to [`SIGN_IN_CALLBACK_PATH`].
pub trait SingleSignOn: Send + Sync {
    /// Name of the cookie that binds a login to the browser.
    fn sign_in_cookie_name(&self) -> &str;

    /// Begins a login after which the user continues at a path.
    fn begin<'a>(&'a self, next: &'a str) -> BoxFuture<'a, Result<SignInStart, LoginError>>;

    /// Completes a login with the provider's answer and the value of the cookie, for a client at this address.
    fn finish<'a>(
        &'a self,
        answer: SignInAnswer,
        cookie: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Result<SignedIn, LoginError>>;
}

/// The path that identity providers send browsers back to.
pub const SIGN_IN_CALLBACK_PATH: &str = "/login/sso/callback";

/// A login that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStart {
    /// The provider's page.
    pub url: String,
    /// The value of the cookie that binds the login to the browser.
    pub cookie: String,
}

/// The provider's answer: the query of the callback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SignInAnswer {
    /// The code, unless there is an error.
    pub code: String,
    /// The state that the login began with.
    pub state: String,
    /// The issuer (RFC 9207).
    pub iss: Option<String>,
    /// Why the provider refused the login.
    pub error: Option<String>,
}

/// A user who is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The value of the session's cookie.
    pub session: String,
    /// The path to continue at.
    pub next: String,
}

/// The state that all pages share.
pub struct Dashboard {
    /// The data source.
    pub backend: Arc<dyn DashboardBackend>,
    /// Decides who may log in.
    pub authenticator: Arc<dyn Authenticator>,
    /// Host names that the dashboard accepts.
    pub allowed_hosts: AllowedHosts,
    /// Whether there are workers to show.
    pub has_fleet: bool,
}

/// The dashboard, with what it keeps between requests.
struct DashboardState {
    dashboard: Dashboard,
    /// Summaries of the changes of attempts.
    changes: ChangeCache,
    /// Review decisions that can still be undone.
    held: HeldDecisions,
}

impl DashboardState {
    /// The backend's token. The page of a task also shows a held decision.
    async fn change_token(
        &self,
        user: &DashboardUser,
        task: Option<&str>,
    ) -> Result<String, DashboardError> {
        let token = self.backend.change_token(user, task).await?;
        Ok(match task {
            Some(_) => format!("{token}-{}", self.held.version()),
            None => token,
        })
    }
}

impl std::ops::Deref for DashboardState {
    type Target = Dashboard;

    fn deref(&self) -> &Dashboard {
        &self.dashboard
    }
}

/// The dashboard, shared by all handlers.
type SharedDashboard = Arc<DashboardState>;

fn share(dashboard: Dashboard) -> SharedDashboard {
    Arc::new(DashboardState {
        dashboard,
        changes: ChangeCache::default(),
        held: HeldDecisions::default(),
    })
}

/// The dashboard as a complete server, with a response for every path.
pub fn standalone_router(dashboard: Dashboard) -> Router {
    let dashboard = share(dashboard);
    let router = routes(&dashboard).fallback(views::not_found);
    with_error_pages(with_middleware(router, dashboard))
}

/// The dashboard, to be merged with other routes at the root.
pub fn router(dashboard: Dashboard) -> Router {
    let dashboard = share(dashboard);
    with_middleware(routes(&dashboard), dashboard)
}

/// Responses are compressed if the client supports it; event streams are not, so that no event waits in a
/// buffer, and errors are not, so that they can be shown as pages. A page contains a secret of its user and
/// untrusted text, so its compressed length could reveal the secret (BREACH): the form token is therefore different on
/// every page (`auth::RequestSession::form_token`), and the cookie is not sent on requests that other sites cause.
fn with_middleware(router: Router<SharedDashboard>, dashboard: SharedDashboard) -> Router {
    router
        .layer(CompressionLayer::new().compress_when(DefaultPredicate::new().and(is_no_error)))
        .layer(from_fn_with_state(
            dashboard.clone(),
            headers::reject_foreign_requests,
        ))
        .layer(from_fn(headers::add_security_headers))
        .with_state(dashboard)
}

fn is_no_error(status: StatusCode, _: Version, _: &HeaderMap, _: &Extensions) -> bool {
    !(status.is_client_error() || status.is_server_error())
}

fn routes(dashboard: &SharedDashboard) -> Router<SharedDashboard> {
    let task = "/tasks/{id}";
    let attempt = "/tasks/{id}/attempts/{number}";
    let protected_routes = Router::new()
        .route("/", get(views::tasks))
        .route("/stats", get(views::stats))
        .route("/fleet", get(views::fleet))
        .route("/repository", get(views::repository))
        .route("/worker", get(views::worker))
        .route("/events", get(events::stream_events))
        .route(task, get(views::task))
        .route(&format!("{task}/diff"), get(views::task_diff))
        .route(&format!("{task}/compare"), get(views::compare))
        .route(&format!("{task}/download/{{form}}"), get(outputs::download))
        .route(
            &format!("{task}/baseline/checks/{{check}}"),
            get(outputs::baseline),
        )
        .route(
            &format!("{task}/baseline/checks/{{check}}/raw"),
            get(outputs::baseline_raw),
        )
        .route(&format!("{attempt}/diff"), get(views::attempt_diff))
        .route(&format!("{attempt}/session"), get(views::session))
        .route(&format!("{attempt}/transcript"), get(outputs::transcript))
        .route(
            &format!("{attempt}/transcript/raw"),
            get(outputs::transcript_raw),
        )
        .route(&format!("{attempt}/checks/{{check}}"), get(outputs::check))
        .route(
            &format!("{attempt}/checks/{{check}}/raw"),
            get(outputs::check_raw),
        )
        .route(
            &format!("{task}/review"),
            get(views::review).post(actions::review),
        )
        .route(&format!("{task}/review/undo"), post(actions::undo_review))
        .route(&format!("{task}/review/apply"), post(actions::apply_review))
        .route("/new", get(submit::form).post(submit::submit))
        .route("/bulk", post(actions::bulk))
        .route("/theme", post(theme::set_theme))
        .route(&format!("{task}/cancel"), post(actions::cancel))
        .route(&format!("{task}/retry"), post(actions::retry))
        .route("/logout", post(auth::post_logout))
        .route_layer(from_fn_with_state(dashboard.clone(), auth::require_login));
    Router::new()
        .route("/login", get(auth::get_login).post(auth::post_login))
        .route("/login/sso", get(auth::begin_sign_in))
        .route(SIGN_IN_CALLBACK_PATH, get(auth::finish_sign_in))
        .route("/assets/{name}", get(assets::asset))
        .route("/favicon.ico", get(assets::icon))
        .merge(protected_routes)
}
