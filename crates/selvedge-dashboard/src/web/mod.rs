//! The dashboard over HTTP: which page stands at which address, who may see it, and what every answer
//! says to the browser about what it may do. The same for `selvedge ui` and for the hub.
//!
//! Invariants: nothing but the door, the assets and the icon is answered to a stranger; nothing is
//! changed without the visitor's own token in the form and an origin that is ours; no answer allows a
//! script but ours, or a request to another host.

#![expect(
    clippy::result_large_err,
    reason = "an answer is made once, and goes out whether it is the good one or not"
)]

mod actions;
mod assets;
mod auth;
mod events;
mod headers;
mod outputs;
mod respond;
mod views;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use tower_http::compression::CompressionLayer;

use crate::backend::{DashboardBackend, DashboardUser};

pub(crate) use assets::VERSION as ASSETS;
pub use headers::AllowedHosts;

/// Of this program, as reports for others name it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How a visitor comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginMethod {
    /// By a link with a token that works once.
    OneTimeLink,
    /// By typing a token.
    Token,
}

/// Who may come in.
pub trait Authenticator: Send + Sync {
    /// How a visitor comes in.
    fn login_method(&self) -> LoginMethod;

    /// The name of the cookie: another one for every dashboard that a browser may know under one host.
    fn cookie_name(&self) -> &str;

    /// Whether the cookie is for encrypted connections only.
    fn is_secure(&self) -> bool;

    /// Lets somebody in by what they brought; gives the cookie's value. `Err` says why not.
    fn log_in<'a>(&'a self, secret: &'a str, from: IpAddr)
    -> BoxFuture<'a, Result<String, String>>;

    /// Whom a cookie's value belongs to.
    fn find_user<'a>(
        &'a self,
        cookie: &'a str,
        from: IpAddr,
    ) -> BoxFuture<'a, Option<DashboardUser>>;

    /// Forgets a cookie's value, where that can be done.
    fn log_out<'a>(&'a self, cookie: &'a str) -> BoxFuture<'a, ()>;
}

/// Everything that the pages need.
pub struct Dashboard {
    /// Whoever keeps the runs.
    pub backend: Arc<dyn DashboardBackend>,
    /// Who may come in.
    pub authenticator: Arc<dyn Authenticator>,
    /// Under which names it may be addressed.
    pub allowed_hosts: AllowedHosts,
    /// Whether there are machines to look at.
    pub has_fleet: bool,
}

/// A dashboard that several answers share.
type SharedDashboard = Arc<Dashboard>;

/// The dashboard, with an answer for every address.
pub fn standalone_router(dashboard: Dashboard) -> Router {
    let dashboard = Arc::new(dashboard);
    let router = routes(&dashboard).fallback(views::not_found);
    with_middleware(router, dashboard)
}

/// The dashboard, to be merged with what else stands at the root.
pub fn router(dashboard: Dashboard) -> Router {
    let dashboard = Arc::new(dashboard);
    with_middleware(routes(&dashboard), dashboard)
}

/// Answers are compressed where the client takes that; streams of events are not, so that none waits in
/// a buffer. A page holds a secret of its visitor beside texts that others chose, and how long it is when
/// compressed could tell of the secret (BREACH): therefore the token of its forms is another one on every
/// page (`door::Inside::form_token`), and the cookie is not sent on requests that other sites cause.
fn with_middleware(router: Router<SharedDashboard>, dashboard: SharedDashboard) -> Router {
    router
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(
            dashboard.clone(),
            headers::reject_foreign_requests,
        ))
        .layer(from_fn(headers::add_security_headers))
        .with_state(dashboard)
}

fn routes(dashboard: &SharedDashboard) -> Router<SharedDashboard> {
    let task = "/tasks/{id}";
    let attempt = "/tasks/{id}/attempts/{number}";
    let inside = Router::new()
        .route("/", get(views::tasks))
        .route("/stats", get(views::stats))
        .route("/fleet", get(views::fleet))
        .route("/events", get(events::stream_events))
        .route(task, get(views::task))
        .route(&format!("{task}/diff"), get(views::task_diff))
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
        .route(&format!("{task}/review"), post(actions::review))
        .route(&format!("{task}/cancel"), post(actions::cancel))
        .route(&format!("{task}/retry"), post(actions::retry))
        .route("/logout", post(auth::post_logout))
        .route_layer(from_fn_with_state(dashboard.clone(), auth::require_login));
    Router::new()
        .route("/login", get(auth::get_login).post(auth::post_login))
        .route("/assets/{name}", get(assets::asset))
        .route("/favicon.ico", get(assets::icon))
        .merge(inside)
}
