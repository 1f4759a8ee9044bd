//! Who works, and numbers over all tasks.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Query, State};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::fleet::WorkerPage;
use selvedge_face::stats::{Figures, Since};
use serde::Deserialize;

use super::views::{self, Stats};
use crate::access::Caller;
use crate::facts;
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

/// Which runs figures are of.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    days: Option<String>,
    zone: Option<String>,
}

pub(super) async fn figures(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Result<Json<Figures>, Refused> {
    let days = asked.days.map(|days| {
        let known = days.parse().ok().filter(|days| (1..=36_500).contains(days));
        known.ok_or_else(|| Refused::field("days", "is a number from 1 to 36500"))
    });
    let since = Since::days(days.transpose()?, Timestamp::now());
    let zone = asked.zone.map(|zone| {
        TimeZone::get(&zone).map_err(|_| Refused::field("zone", "no time zone is called so"))
    });
    let zone = zone.transpose()?.unwrap_or(TimeZone::UTC);
    let facts = facts::all(&hub, &caller.0.tenant).await?;
    Ok(Json(Figures::of(&facts, since, &zone)))
}
