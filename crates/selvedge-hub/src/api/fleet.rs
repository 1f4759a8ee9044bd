//! Workers, and totals over all tasks.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_dashboard::stats::{StatsPeriod, StatsReport};
use selvedge_protocol::WorkerPage;
use selvedge_store::hub::{HubStoreError, PollRequest};
use serde::Deserialize;

use super::views::{self, AssignableTasks, HubStats};
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::run_stats;
use crate::service::visible_workers;
use crate::session::TaskNeeds;

/// Where counting assignable tasks ends: far above the number of workers of any installation.
const MAX_ASSIGNABLE: usize = 10_000;

pub(super) async fn workers(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<WorkerPage>, ApiError> {
    Ok(Json(WorkerPage {
        workers: visible_workers(&hub, &caller.0.project).await?,
    }))
}

pub(super) async fn stats(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<HubStats>, ApiError> {
    let project = caller.0.project;
    let mut stats = views::stats(&hub.store.overview(Some(project.clone())).await?);
    for waiting in &mut stats.waiting {
        waiting.unplaceable = hub
            .sessions
            .why_unschedulable(TaskNeeds::of_labels(&project, &waiting.labels));
    }
    Ok(Json(stats))
}

/// The worker for which assignable tasks are counted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AssignableParams {
    labels: String,
}

pub(super) async fn assignable(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    QueryParams(params): QueryParams<AssignableParams>,
) -> Result<Json<AssignableTasks>, ApiError> {
    let labels = params.labels.split(',').map(str::trim);
    let labels = labels.filter(|label| !label.is_empty()).map(str::to_owned);
    // Workers of the default project carry out the tasks of all projects.
    let project = (!caller.is_of_default_project()).then(|| caller.0.project.clone());
    Ok(Json(AssignableTasks {
        assignable: count_assignable(&hub, project, labels.collect()).await?,
    }))
}

/// Number of queued tasks that a worker with these labels could be given now.
pub(super) async fn count_assignable(
    hub: &Hub,
    project: Option<String>,
    labels: Vec<String>,
) -> Result<u64, HubStoreError> {
    let want = PollRequest {
        worker: String::new(),
        project,
        labels,
        agents: None,
        folders: None,
        slots: MAX_ASSIGNABLE,
        excluded: Vec::new(),
    };
    hub.store.count_assignable(want).await
}

/// The period of the statistics.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatsParams {
    days: Option<String>,
    zone: Option<String>,
}

pub(super) async fn retry_figures(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    QueryParams(params): QueryParams<StatsParams>,
) -> Result<Json<StatsReport>, ApiError> {
    let days = params.days.map(|days| {
        let valid = days.parse().ok().filter(|days| (1..=36_500).contains(days));
        valid.ok_or_else(|| ApiError::field("days", "must be a number from 1 to 36500"))
    });
    let since = StatsPeriod::last_days(days.transpose()?, Timestamp::now());
    let zone = params
        .zone
        .map(|zone| TimeZone::get(&zone).map_err(|_| ApiError::field("zone", "unknown time zone")));
    let zone = zone.transpose()?.unwrap_or(TimeZone::UTC);
    let run_stats = run_stats::load_all(&hub, &caller.0.project).await?;
    Ok(Json(StatsReport::from_runs(&run_stats, since, &zone)))
}
