//! Reports, journals and files of runs. Results include decisions made since the run ended.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use selvedge_protocol::{JournalPage, ReportPage, Scope};
use selvedge_store::hub::TaskView;
use serde::Deserialize;
use serde_json::Value;

use super::blobs;
use super::views::{AttemptLine, AttemptPage, FilePage, LogPage, LogRow};
use crate::access::Caller;
use crate::auth::has_scope;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::result;
use crate::service::{self, Actor, ServiceError};
use crate::task_rows::timestamp;

/// Default number of lines in a page.
const DEFAULT_LINES: usize = 500;
const MAX_LINES: usize = 2_000;

/// Parameters of a page of a series.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SeriesParams {
    after: Option<u64>,
    limit: Option<usize>,
}

impl SeriesParams {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES)
    }
}

fn parse_body(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_default()
}

fn json_response(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

pub(super) async fn show_result(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Response, ApiError> {
    let (view, _) = service::find(&hub, &Actor::from(caller), &task).await?;
    let found = result::load_body(&hub, &view).await?;
    Ok(json_response(
        found.ok_or_else(|| ApiError::not_found("result"))?,
    ))
}

pub(super) async fn list_reports(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<ReportPage>, ApiError> {
    let (view, _) = service::find(&hub, &Actor::from(caller), &task).await?;
    let reports = hub.store.reports(view.row.task_id).await?;
    let reports = reports
        .iter()
        .map(|report| parse_body(&report.body))
        .collect();
    Ok(Json(ReportPage { reports }))
}

pub(super) async fn show_report(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path((task, number)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let (view, _) = service::find(&hub, &Actor::from(caller), &task).await?;
    let task = view.row.task_id;
    let found = match number.as_str() {
        "latest" => hub.store.reports(task).await?.pop(),
        number => {
            let number = number.parse().map_err(|_| {
                ApiError::bad_request("invalid report: must be a run number or `latest`")
            })?;
            hub.store.report(task, number).await?
        }
    };
    let found = found.ok_or_else(|| ApiError::not_found("report"))?;
    Ok(json_response(found.body))
}

pub(super) async fn list_attempts(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<AttemptPage>, ApiError> {
    let (view, _) = service::find(&hub, &Actor::from(caller), &task).await?;
    let runs = hub.store.runs(view.row.task_id).await?;
    let lines = runs.into_iter().map(|run| AttemptLine {
        attempt_number: run.attempt_number,
        lease_epoch: run.epoch,
        begun_at: timestamp(run.begun_at),
        closed_at: run.closed_at.map(timestamp),
        closing: run.end,
    });
    Ok(Json(AttemptPage {
        runs: lines.collect(),
    }))
}

/// A task, if the user may see it, or if the worker may have to continue it: workers of the default project carry out
/// the tasks of all projects.
async fn find_for_worker(
    hub: &Hub,
    caller: Caller,
    task: &str,
) -> Result<(TaskView, String), ServiceError> {
    if has_scope(&caller.0, Scope::Worker) && caller.is_of_default_project() {
        let task = task.parse().map_err(|_| ServiceError::TaskNotFound)?;
        let found = hub.store.task(task).await?;
        return found.ok_or(ServiceError::TaskNotFound);
    }
    service::find(hub, &Actor::from(caller), task).await
}

pub(super) async fn journal(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    QueryParams(part): QueryParams<SeriesParams>,
) -> Result<Json<JournalPage>, ApiError> {
    let (view, _) = find_for_worker(&hub, caller, &task).await?;
    let (after, limit) = (part.after.unwrap_or(0), part.limit());
    let lines = hub.store.journal(view.row.task_id, after, limit).await?;
    Ok(Json(JournalPage {
        next: lines
            .last()
            .filter(|_| lines.len() == limit)
            .map(|line| line.seq),
        events: lines.iter().map(|line| parse_body(&line.event)).collect(),
    }))
}

pub(super) async fn log(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    QueryParams(part): QueryParams<SeriesParams>,
) -> Result<Json<LogPage>, ApiError> {
    let (view, _) = service::find(&hub, &Actor::from(caller), &task).await?;
    let (after, limit) = (part.after.unwrap_or(0), part.limit());
    let lines = hub.store.log(view.row.task_id, after, limit).await?;
    Ok(Json(LogPage {
        next: lines
            .last()
            .filter(|_| lines.len() == limit)
            .map(|line| line.seq),
        lines: lines
            .iter()
            .map(|line| LogRow {
                seq: line.seq,
                at: timestamp(line.at),
                event: parse_body(&line.event),
            })
            .collect(),
    }))
}

pub(super) async fn files(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<FilePage>, ApiError> {
    let (view, _) = find_for_worker(&hub, caller, &task).await?;
    let files = hub.store.files(view.row.task_id).await?;
    Ok(Json(FilePage { files }))
}

/// Parameters of a file request.
#[derive(Debug, Deserialize)]
pub(super) struct FileParams {
    name: String,
}

pub(super) async fn download_file(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    QueryParams(named): QueryParams<FileParams>,
) -> Result<Response, ApiError> {
    let (view, _) = find_for_worker(&hub, caller, &task).await?;
    let files = hub.store.files(view.row.task_id).await?;
    let file = files.into_iter().find(|file| file.name == named.name);
    let file = file.ok_or_else(|| ApiError::not_found("file"))?;
    blobs::stream_blob(&hub, file.hash).await
}
