//! Schedules: creating, listing, pausing, resuming and removing them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use selvedge_protocol::{
    CreatedSchedule, ScheduleLast, SchedulePage, ScheduleRequest, ScheduleRow,
};
use selvedge_store::hub::{AuditActor, NewSchedule, Schedule, ScheduleMove};
use uuid::Uuid;

use super::tasks::{BodyResult, read_body};
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::schedules::{self, CronError};
use crate::service::{Actor, parse_json};
use crate::task_rows::timestamp;
use crate::validate;

/// Maximum number of schedules of a project.
const MAX_SCHEDULES: usize = 500;

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<SchedulePage>, ApiError> {
    let schedules = hub.store.schedules(caller.0.project).await?;
    Ok(Json(SchedulePage {
        schedules: schedules.iter().map(schedule_row).collect(),
    }))
}

pub(super) async fn create(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: BodyResult,
) -> Result<Response, ApiError> {
    let request: ScheduleRequest = parse_json(&read_body(body)?)?;
    let name = validate::requested_name(&request.name)?;
    let task = request.task.to_string();
    let checked = validate::task(task.as_bytes(), &hub.settings.defaults)?;
    if checked.task.task_id.is_some() {
        let detail = "must be absent: each task of a schedule has its own";
        return Err(ApiError::field("task.task_id", detail));
    }
    let next_at = next_time(&hub, &request.cron).await?;
    let existing = hub.store.schedules(caller.0.project.clone()).await?;
    if existing.len() >= MAX_SCHEDULES {
        return Err(ApiError::conflict(format!(
            "there are already {MAX_SCHEDULES} schedules; remove one first"
        )));
    }
    let schedule_id = Uuid::now_v7();
    let new = NewSchedule {
        schedule_id,
        project: caller.0.project.clone(),
        name: name.to_owned(),
        cron: request.cron,
        body: task,
        created_by: Actor::from(caller.clone()).into(),
        next_at,
    };
    hub.store.insert_schedule(new).await?;
    let created = CreatedSchedule {
        row: schedule_row(&find(&hub, &caller, &schedule_id.to_string()).await?),
        warnings: checked.warnings,
    };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

pub(super) async fn pause(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(schedule): Path<String>,
) -> Result<Json<ScheduleRow>, ApiError> {
    set_paused(&hub, &caller, &schedule, true).await
}

pub(super) async fn resume(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(schedule): Path<String>,
) -> Result<Json<ScheduleRow>, ApiError> {
    set_paused(&hub, &caller, &schedule, false).await
}

pub(super) async fn remove(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(schedule): Path<String>,
) -> Result<StatusCode, ApiError> {
    let found = find(&hub, &caller, &schedule).await?;
    let by = Actor::from(caller).into();
    hub.store.delete_schedule(found.schedule_id, by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pauses or resumes a schedule, again if a hub submits its task meanwhile.
async fn set_paused(
    hub: &Hub,
    caller: &Caller,
    schedule: &str,
    is_paused: bool,
) -> Result<Json<ScheduleRow>, ApiError> {
    let by: AuditActor = Actor::from(caller.clone()).into();
    loop {
        let found = find(hub, caller, schedule).await?;
        if found.next_at.is_none() == is_paused {
            return Ok(Json(schedule_row(&found)));
        }
        let (next_at, cause) = if is_paused {
            (None, ScheduleMove::Paused(by.clone()))
        } else {
            let next = next_time(hub, &found.cron).await?;
            (Some(next), ScheduleMove::Resumed(by.clone()))
        };
        let id = found.schedule_id;
        let moved = hub.store.move_schedule(id, found.next_at, next_at, cause);
        if moved.await? {
            let moved = Schedule { next_at, ..found };
            return Ok(Json(schedule_row(&moved)));
        }
    }
}

async fn next_time(hub: &Hub, cron: &str) -> Result<i64, ApiError> {
    let now = hub.store.now().await?;
    schedules::next_time(cron, now)
        .map_err(|error: CronError| ApiError::field("cron", error.to_string()))
}

async fn find(hub: &Hub, caller: &Caller, schedule: &str) -> Result<Schedule, ApiError> {
    let all = hub.store.schedules(caller.0.project.clone()).await?;
    let found = all
        .into_iter()
        .find(|it| it.schedule_id.to_string() == schedule);
    found.ok_or_else(|| ApiError::not_found("schedule"))
}

fn schedule_row(schedule: &Schedule) -> ScheduleRow {
    let last = schedule.last.as_ref().map(|last| ScheduleLast {
        at: timestamp(last.at),
        task_id: last.result.as_ref().ok().copied(),
        error: last.result.as_ref().err().cloned(),
    });
    ScheduleRow {
        id: schedule.schedule_id.to_string(),
        name: schedule.name.clone(),
        cron: schedule.cron.clone(),
        created_by: schedule.created_by.clone(),
        created_at: timestamp(schedule.created_at),
        next_at: schedule.next_at.map(timestamp),
        last,
        task: serde_json::from_str(&schedule.body).unwrap_or_default(),
    }
}
