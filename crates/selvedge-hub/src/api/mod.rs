//! The REST API: one table lists for every route its name, scope, request and response. The router, the
//! OpenAPI document and the test of all scopes are generated from it.

mod audit;
mod blobs;
mod events;
mod fleet;
pub(crate) mod openapi;
mod operations;
mod probes;
mod projects;
mod reports;
mod schedules;
mod sessions;
mod tasks;
mod tokens;
mod views;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::MethodRouter;

use crate::access;
use crate::hub::Hub;
use crate::problem::ApiError;

pub use operations::{OPERATIONS, Operation, OperationAccess};

/// The router with all routes of a hub. The caller merges the dashboard into it.
pub fn app(hub: &Arc<Hub>) -> Router {
    let mut router = Router::new();
    for operation in OPERATIONS {
        router = router.route(operation.path, protected_route(hub, operation));
    }
    router
        .fallback(|| async { ApiError::not_found("page") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                "method not allowed; see `/openapi.json`",
            )
        })
        .layer(DefaultBodyLimit::max(hub.settings.body_limit))
        .layer(from_fn_with_state(Arc::clone(hub), access::check_host))
        .with_state(Arc::clone(hub))
}

fn protected_route(hub: &Arc<Hub>, operation: &Operation) -> MethodRouter<Arc<Hub>> {
    let route = (operation.route)();
    match operation.access {
        OperationAccess::Open => route,
        OperationAccess::Scopes(scopes) => {
            let hub = Arc::clone(hub);
            route.route_layer(from_fn(move |request: Request, next: Next| {
                let hub = Arc::clone(&hub);
                async move {
                    access::require_scope(hub, scopes, request, next)
                        .await
                        .into_response()
                }
            }))
        }
    }
}
