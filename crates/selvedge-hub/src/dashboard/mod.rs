//! The dashboard over a hub: who may come in by which token, and the store as the pages ask it. The
//! pages themselves are `selvedge_dashboard`'s.

mod auth;
mod backend;
mod overview;
mod rows;

use std::sync::Arc;

use axum::Router;
use selvedge_dashboard::web::{AllowedHosts, Dashboard, router};

use crate::hub::Hub;

/// The dashboard, to be merged with [`app`](crate::app).
pub fn dashboard(hub: &Arc<Hub>) -> Router {
    router(Dashboard {
        backend: Arc::new(backend::HubBackend::new(Arc::clone(hub))),
        authenticator: Arc::new(auth::TokenAuthenticator(Arc::clone(hub))),
        allowed_hosts: AllowedHosts::Listed(hub.settings().hosts.clone()),
        has_fleet: true,
    })
}
