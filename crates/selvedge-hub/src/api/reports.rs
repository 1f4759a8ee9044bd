//! Reports, journals and files of runs. Results include decisions made since the run ended.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use selvedge_core::fleet::{JournalPage, ReportPage};
use serde::Deserialize;
use serde_json::Value;

use super::blobs;
use super::tasks::find;
use super::views::{FilePage, LogPage, LogRow, RunLine, RunPage, timestamp};
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::Refused;
use crate::result;

/// Lines of a page when nobody says.
const LINES: usize = 500;
const MOST: usize = 2_000;

/// Which part of a series.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    after: Option<u64>,
    limit: Option<usize>,
}

impl Part {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(LINES).clamp(1, MOST)
    }
}

fn value(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_default()
}

fn raw(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

pub(super) async fn result_of(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Response, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let found = result::body(&hub, &view).await?;
    Ok(raw(found.ok_or_else(|| Refused::not_found("result yet"))?))
}

pub(super) async fn all(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<ReportPage>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let reports = hub.store.reports(view.row.task_id).await?;
    let reports = reports.iter().map(|report| value(&report.body)).collect();
    Ok(Json(ReportPage { reports }))
}

pub(super) async fn one(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path((task, number)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let task = view.row.task_id;
    let found = match number.as_str() {
        "latest" => hub.store.reports(task).await?.pop(),
        number => {
            let number = number.parse().map_err(|_| {
                Refused::bad_request("a report is named by its run number, or `latest`")
            })?;
            hub.store.report(task, number).await?
        }
    };
    let found = found.ok_or_else(|| Refused::not_found("report"))?;
    Ok(raw(found.body))
}

pub(super) async fn runs(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<RunPage>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let runs = hub.store.runs(view.row.task_id).await?;
    let lines = runs.into_iter().map(|run| RunLine {
        run_number: run.run_number,
        lease_epoch: run.epoch,
        begun_at: timestamp(run.begun_at),
        closed_at: run.closed_at.map(timestamp),
        closing: run.closing,
    });
    Ok(Json(RunPage {
        runs: lines.collect(),
    }))
}

pub(super) async fn journal(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(part): Query<Part>,
) -> Result<Json<JournalPage>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let (after, limit) = (part.after.unwrap_or(0), part.limit());
    let lines = hub.store.journal(view.row.task_id, after, limit).await?;
    Ok(Json(JournalPage {
        next: lines
            .last()
            .filter(|_| lines.len() == limit)
            .map(|line| line.seq),
        events: lines.iter().map(|line| value(&line.event)).collect(),
    }))
}

pub(super) async fn log(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(part): Query<Part>,
) -> Result<Json<LogPage>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
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
                event: value(&line.event),
            })
            .collect(),
    }))
}

pub(super) async fn files(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
) -> Result<Json<FilePage>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let files = hub.store.files(view.row.task_id).await?;
    Ok(Json(FilePage { files }))
}

/// Which file.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    name: String,
}

pub(super) async fn content(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(named): Query<Named>,
) -> Result<Response, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let files = hub.store.files(view.row.task_id).await?;
    let file = files.into_iter().find(|file| file.name == named.name);
    let file = file.ok_or_else(|| Refused::not_found("file"))?;
    blobs::whole(&hub, file.hash).await
}
