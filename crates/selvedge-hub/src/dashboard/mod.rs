//! The dashboard of a hub: authentication by token, and the backend over the store. The pages themselves are
//! in `selvedge_dashboard`.

mod auth;
mod backend;
mod overview;
mod rows;

use std::sync::Arc;

use axum::Router;
use selvedge_dashboard::web::{AllowedHosts, Dashboard, router, with_error_pages};

use crate::app;
use crate::hub::Hub;

/// All routes of a hub: the API and the dashboard. Browsers see errors of both as pages.
pub fn site_router(hub: &Arc<Hub>) -> Router {
    with_error_pages(app(hub).merge(dashboard(hub)))
}

fn dashboard(hub: &Arc<Hub>) -> Router {
    router(Dashboard {
        backend: Arc::new(backend::HubBackend::new(Arc::clone(hub))),
        authenticator: Arc::new(auth::SessionAuthenticator::new(Arc::clone(hub))),
        allowed_hosts: AllowedHosts::Listed(hub.settings().hosts.clone()),
        has_fleet: true,
    })
}
