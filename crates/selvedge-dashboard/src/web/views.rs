//! The read-only pages.

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::run::Run;
use serde::Deserialize;

use super::auth::LoginSession;
use super::outputs::patch_response;
use super::respond::{PageResult, page_frame, render_error, render_page};
use super::{Dashboard, SharedDashboard};
use crate::backend::{
    DashboardError, DiffContent, DiffRange, LiveActivity, TaskDetail, TaskHistory, TaskQuery,
    TaskQueryParams,
};
use crate::pages::{
    ActivityItem, DiffPage, FleetPage, NavItem, PageFrame, StatsPage, TaskDetailPage, TaskListPage,
    items_from_events, parse_transcript,
};
use crate::stats::{StatsPeriod, StatsReport};
use crate::text::single_line;

/// The result of reading a query.
type QueryResult<T> = Result<Query<T>, QueryRejection>;

/// How much of an agent's transcript is read for its last activity, in bytes.
const LIVE_BYTES: u64 = 48 * 1024;

fn query_or_default<T: Default>(query_result: QueryResult<T>) -> T {
    query_result.map(|Query(query)| query).unwrap_or_default()
}

/// Converts an error to its page.
pub(super) fn error_page(login: &LoginSession) -> impl Fn(DashboardError) -> Response {
    |error| render_error(Some(login), &error)
}

/// The frame of a page with live updates.
async fn live_frame(
    dashboard: &Dashboard,
    login: &LoginSession,
    title: &str,
    nav_item: NavItem,
    task: Option<&str>,
) -> Result<PageFrame, Response> {
    let pulse = dashboard.backend.change_token(&login.user, task).await;
    let pulse = pulse.map_err(error_page(login))?;
    let live = task.map_or_else(|| "/events".to_owned(), |id| format!("/events?task={id}"));
    Ok(PageFrame {
        live,
        pulse,
        ..page_frame(login, title, nav_item)
    })
}

/// `GET /`.
pub(super) async fn tasks(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    query_result: QueryResult<TaskQueryParams>,
) -> PageResult {
    let query = TaskQuery::from(query_or_default(query_result));
    let frame = live_frame(&dashboard, &login, "Tasks", NavItem::Tasks, None).await?;
    let tasks = dashboard.backend.tasks(&login.user, &query).await;
    let tasks = tasks.map_err(error_page(&login))?;
    let shown = TaskListPage::new(frame, &query, &tasks, Timestamp::now());
    Ok(render_page(StatusCode::OK, &shown))
}

/// Finds a task by the id in the URL.
pub(super) async fn find_task(
    dashboard: &Dashboard,
    login: &LoginSession,
    id: &str,
) -> Result<TaskDetail, Response> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !id.bytes().all(plain) || id.len() > 64 {
        let error = DashboardError::NotFound("invalid task id".to_owned());
        return Err(error_page(login)(error));
    }
    let task = dashboard.backend.task(&login.user, id).await;
    task.map_err(error_page(login))
}

/// The run of a task that is a single run.
pub(super) fn run_of<'a>(login: &LoginSession, task: &'a TaskDetail) -> Result<&'a Run, Response> {
    match &task.history {
        TaskHistory::Run(run) => Ok(run),
        TaskHistory::NotStarted => {
            let error = DashboardError::NotFound("the task has not started".to_owned());
            Err(error_page(login)(error))
        }
        TaskHistory::Plan { .. } | TaskHistory::Subtasks { .. } => {
            let error = DashboardError::NotFound(
                "the task is a plan; each subtask has its own page".to_owned(),
            );
            Err(error_page(login)(error))
        }
    }
}

/// `GET /tasks/{id}`.
pub(super) async fn task(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    Path(id): Path<String>,
) -> PageResult {
    let pulse = dashboard.backend.change_token(&login.user, Some(&id)).await;
    let task = find_task(&dashboard, &login, &id).await?;
    let title = single_line(&task.row.description, 60);
    let frame = PageFrame {
        live: format!("/events?task={}", task.row.id),
        pulse: pulse.map_err(error_page(&login))?,
        ..page_frame(&login, &title, NavItem::Tasks)
    };
    let live = live_activity(&dashboard, &task).await;
    let shown = TaskDetailPage::new(frame, &task, live, Timestamp::now());
    Ok(render_page(StatusCode::OK, &shown))
}

/// The last activity of an open session. Unreadable data is skipped: it is not evidence.
async fn live_activity(dashboard: &Dashboard, task: &TaskDetail) -> Vec<ActivityItem> {
    let (run, output) = match &task.live {
        LiveActivity::Unknown => return Vec::new(),
        LiveActivity::Activity(events) => return items_from_events(events),
        LiveActivity::Transcript(run, output) => (*run, output),
    };
    let end = async {
        let size_probe = dashboard.backend.output(run, output, 0, 0).await.ok()?;
        let from = size_probe.total.saturating_sub(LIVE_BYTES);
        let length = usize::try_from(LIVE_BYTES).ok()?;
        let slice = dashboard
            .backend
            .output(run, output, from, length)
            .await
            .ok()?;
        Some(parse_transcript(&slice.bytes, from == 0))
    };
    end.await.unwrap_or_default()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DiffQuery {
    from: String,
    /// `patch` to download the diff as a file.
    r#as: String,
}

/// The page for unknown URLs.
pub(super) async fn not_found() -> Response {
    let error = DashboardError::NotFound("page not found".to_owned());
    render_error(None, &error)
}

/// `GET /tasks/{id}/attempts/{number}/diff`.
pub(super) async fn attempt_diff(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    Path((id, number)): Path<(String, u32)>,
    query_result: QueryResult<DiffQuery>,
) -> PageResult {
    let task = find_task(&dashboard, &login, &id).await?;
    let run = run_of(&login, &task)?;
    let query = query_or_default(query_result);
    let since_start = query.from == "start";
    let between = if since_start {
        DiffRange::SinceStart(number)
    } else {
        DiffRange::Attempt(number)
    };
    let diff = dashboard.backend.diff(&task, run.run_id, between).await;
    let diff = diff.map_err(error_page(&login))?;
    if query.r#as == "patch" {
        let since = if since_start { "-since-start" } else { "" };
        let name = format!("{}-attempt-{number}{since}.patch", task.row.short);
        return patch_response(&login, &name, diff);
    }
    let base = format!("/tasks/{id}/attempts/{number}/diff");
    let other = if since_start {
        (base.clone(), format!("Changes of attempt {number}"))
    } else {
        let other = format!("{base}?from=start");
        (other, "Changes since the start".to_owned())
    };
    let heading = if since_start {
        format!("Changes from the start to attempt {number}")
    } else {
        format!("Changes of attempt {number}")
    };
    let raw = if since_start {
        format!("{base}?from=start&as=patch")
    } else {
        format!("{base}?as=patch")
    };
    let all = (format!("/tasks/{id}/diff"), "All changes".to_owned());
    let shown = DiffHeader {
        heading,
        other: vec![other, all],
        raw,
    };
    Ok(show_diff(&login, &task, shown, &diff))
}

/// All changes of a task.
pub(super) async fn full_diff(
    dashboard: &Dashboard,
    login: &LoginSession,
    task: &TaskDetail,
) -> Result<DiffContent, Response> {
    let run = match &task.history {
        // The patch is stored with the plan itself, which has no run of its own.
        TaskHistory::Subtasks { .. } => {
            let none = |_| DashboardError::NotFound("invalid task id".to_owned());
            let id = task.row.id.parse().map_err(none);
            id.map_err(error_page(login))?
        }
        _ => run_of(login, task)?.run_id,
    };
    let diff = dashboard.backend.diff(task, run, DiffRange::Whole).await;
    diff.map_err(error_page(login))
}

/// `GET /tasks/{id}/diff`.
pub(super) async fn task_diff(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    Path(id): Path<String>,
) -> PageResult {
    let task = find_task(&dashboard, &login, &id).await?;
    let diff = full_diff(&dashboard, &login, &task).await?;
    let other = if let TaskHistory::Subtasks { parts, .. } = &task.history {
        let begun = parts.iter();
        let begun = begun.filter_map(|part| Some((part.task.as_ref()?, single_line(&part.id, 40))));
        begun
            .map(|(task, id)| (format!("/tasks/{task}"), id))
            .collect()
    } else {
        let attempts = run_of(&login, &task)?.attempts.iter();
        let each = attempts.map(|attempt| {
            let number = attempt.attempt_number;
            let address = format!("/tasks/{id}/attempts/{number}/diff");
            (address, format!("Attempt {number}"))
        });
        each.collect()
    };
    let shown = DiffHeader {
        heading: "All changes".to_owned(),
        other,
        raw: format!("/tasks/{id}/download/patch"),
    };
    Ok(show_diff(&login, &task, shown, &diff))
}

/// The diff that is shown, and links to the others.
struct DiffHeader {
    heading: String,
    other: Vec<(String, String)>,
    raw: String,
}

fn show_diff(
    login: &LoginSession,
    task: &TaskDetail,
    shown: DiffHeader,
    diff: &DiffContent,
) -> Response {
    let id = &task.row.id;
    let back = (
        format!("/tasks/{id}"),
        single_line(&task.row.description, 80),
    );
    let frame = page_frame(login, &shown.heading, NavItem::Tasks);
    let shown = DiffPage::new(frame, shown.heading, back, shown.other, shown.raw, diff);
    render_page(StatusCode::OK, &shown)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatsQuery {
    days: String,
}

/// `GET /stats`.
pub(super) async fn stats(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    query_result: QueryResult<StatsQuery>,
) -> PageResult {
    let days = query_or_default(query_result)
        .days
        .parse()
        .ok()
        .filter(|days| *days <= 36_500);
    let run_stats = dashboard.backend.run_stats(&login.user).await;
    let run_stats = run_stats.map_err(error_page(&login))?;
    let since = StatsPeriod::last_days(days, Timestamp::now());
    let figures = StatsReport::from_runs(&run_stats, since, &TimeZone::system());
    let frame = page_frame(&login, "Retry statistics", NavItem::Stats);
    let shown = StatsPage::new(frame, &figures, days);
    Ok(render_page(StatusCode::OK, &shown))
}

/// `GET /fleet`.
pub(super) async fn fleet(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
) -> PageResult {
    let fleet = dashboard.backend.fleet(&login.user).await;
    let Some(fleet) = fleet.map_err(error_page(&login))? else {
        let error = DashboardError::NotFound("only a hub has a fleet page".to_owned());
        return Err(error_page(&login)(error));
    };
    let frame = live_frame(&dashboard, &login, "Fleet", NavItem::Fleet, None).await?;
    let shown = FleetPage::new(frame, &fleet, Timestamp::now());
    Ok(render_page(StatusCode::OK, &shown))
}
