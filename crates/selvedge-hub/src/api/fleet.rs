//! Who works, and numbers over all tasks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use selvedge_core::fleet::WorkerPage;

use super::views::{self, Stats};
use crate::hub::Hub;
use crate::problem::Refused;

pub(super) async fn workers(State(hub): State<Arc<Hub>>) -> Result<Json<WorkerPage>, Refused> {
    Ok(Json(WorkerPage {
        workers: hub.sessions.workers(),
    }))
}

pub(super) async fn stats(State(hub): State<Arc<Hub>>) -> Result<Json<Stats>, Refused> {
    let mut stats = views::stats(&hub.store.overview().await?);
    for waiting in &mut stats.waiting {
        waiting.unplaceable = hub.sessions.unplaceable(&waiting.labels);
    }
    Ok(Json(stats))
}
