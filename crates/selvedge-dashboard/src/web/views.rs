//! The read-only pages.

use askama::Template;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::run::{Attempt, Run};
use serde::Deserialize;

use super::auth::RequestSession;
use super::events;
use super::outputs::patch_response;
use super::respond::{PageResult, page_frame, redirect_to, render_error, render_page};
use super::{Dashboard, DashboardState, SharedDashboard};
use crate::backend::{
    DashboardError, DiffContent, DiffRange, LiveActivity, TaskDetail, TaskHistory, TaskQuery,
    TaskQueryParams,
};
use crate::pages::{
    ActivityItem, AttemptChanges, ComparePage, DiffPage, FleetPage, NavItem, PageFrame, ReviewPage,
    SessionHeader, SourceKind, SourcePage, StatsPage, TaskDetailPage, TaskListPage, TracePage,
    items_from_events, parse_transcript,
};
use crate::stats::{StatsPeriod, StatsReport};
use crate::text::single_line;
use crate::trace::Trace;

/// The result of reading a query.
type QueryResult<T> = Result<Query<T>, QueryRejection>;

/// How much of an agent's transcript is read for its last activity, in bytes.
const LIVE_BYTES: u64 = 48 * 1024;
/// How much of it is read for the trace of a session.
const TRACE_BYTES: usize = 8 * 1024 * 1024;

fn query_or_default<T: Default>(query_result: QueryResult<T>) -> T {
    query_result.map(|Query(query)| query).unwrap_or_default()
}

/// Converts an error to its page.
pub(super) fn error_page(login: &RequestSession) -> impl Fn(DashboardError) -> Response {
    |error| render_error(Some(login), &error)
}

/// The frame of a page with live updates.
async fn live_frame(
    dashboard: &DashboardState,
    login: &RequestSession,
    title: &str,
    nav_item: NavItem,
    task: Option<&str>,
) -> Result<PageFrame, Response> {
    let pulse = dashboard.change_token(&login.user, task).await;
    let pulse = pulse.map_err(error_page(login))?;
    Ok(PageFrame {
        live: task.unwrap_or(events::ALL_TASKS).to_owned(),
        pulse,
        ..page_frame(login, title, nav_item)
    })
}

/// `GET /`.
pub(super) async fn tasks(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    query_result: QueryResult<TaskQueryParams>,
) -> PageResult {
    let now = Timestamp::now();
    let params: TaskQueryParams = query_or_default(query_result);
    let query = params.query(now);
    let frame = live_frame(&dashboard, &login, "Tasks", NavItem::Tasks, None).await?;
    let tasks = dashboard.backend.tasks(&login.user, &query).await;
    let tasks = tasks.map_err(error_page(&login))?;
    let can_select = login.has_fleet && login.user.can_act;
    let shown = TaskListPage::new(frame, &query, &tasks, can_select, now);
    Ok(render_page(StatusCode::OK, &shown))
}

/// Finds a task by the id in the URL.
pub(super) async fn find_task(
    dashboard: &Dashboard,
    login: &RequestSession,
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
pub(super) fn run_of<'a>(
    login: &RequestSession,
    task: &'a TaskDetail,
) -> Result<&'a Run, Response> {
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
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
) -> PageResult {
    let pulse = dashboard.change_token(&login.user, Some(&id)).await;
    let task = find_task(&dashboard, &login, &id).await?;
    let title = single_line(&task.row.description, 60);
    let frame = PageFrame {
        live: task.row.id.clone(),
        pulse: pulse.map_err(error_page(&login))?,
        ..page_frame(&login, &title, NavItem::Tasks)
    };
    let live = live_activity(&dashboard, &task).await;
    let changes = match &task.history {
        TaskHistory::Run(run) => dashboard.changes.load(&dashboard, &task, run).await,
        _ => AttemptChanges::new(),
    };
    let now = Timestamp::now();
    let held = task.review.as_ref();
    let held = held.and_then(|it| dashboard.held.get(&it.task, &it.target, now));
    let shown = TaskDetailPage::new(frame, &task, live, &changes, held.as_ref(), now);
    Ok(render_page(StatusCode::OK, &shown))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionQuery {
    page: String,
}

/// `GET /tasks/{id}/attempts/{number}/session`.
pub(super) async fn session(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, number)): Path<(String, u32)>,
    query_result: QueryResult<SessionQuery>,
) -> PageResult {
    let pulse = dashboard.change_token(&login.user, Some(&id)).await;
    let task = find_task(&dashboard, &login, &id).await?;
    let run = run_of(&login, &task)?;
    let none = || DashboardError::NotFound(format!("there is no attempt {number}"));
    let attempt = run
        .attempt(number)
        .ok_or_else(|| error_page(&login)(none()))?;
    let is_live = attempt.session.is_none() && attempt.end.is_none();
    let output = match (&attempt.session, &task.live) {
        (Some(session), _) => session.transcript.clone(),
        (None, LiveActivity::Transcript(_, output)) if is_live => Some(output.clone()),
        (None, _) => None,
    };
    let mut truncated = false;
    let mut trace = match (&output, &task.live) {
        (Some(output), _) if output.bytes > 0 => {
            let reading = dashboard
                .backend
                .output(&task, run.run_id, output, 0, TRACE_BYTES);
            let slice = reading.await.map_err(error_page(&login))?;
            truncated = u64::try_from(slice.bytes.len()).unwrap_or(0) < slice.total;
            Trace::parse(&slice.bytes, true)
        }
        (None, LiveActivity::Activity(events)) if is_live => Trace::from_events(events),
        _ => Trace::default(),
    };
    let outcome = attempt.session.as_ref();
    trace.add_times(outcome.map_or(&[], |session| &session.calls));
    let title = format!("Session of attempt {number}");
    let mut frame = page_frame(&login, &title, NavItem::Tasks);
    if is_live {
        frame.live.clone_from(&task.row.id);
        frame.pulse = pulse.map_err(error_page(&login))?;
    }
    let header = SessionHeader {
        number,
        back: (
            format!("/tasks/{id}"),
            single_line(&task.row.description, 80),
        ),
        base: format!("/tasks/{id}/attempts/{number}"),
        outcome,
        is_live,
        truncated,
    };
    let page = query_or_default(query_result).page.parse().ok();
    let shown = TracePage::new(frame, header, &trace, page);
    Ok(render_page(StatusCode::OK, &shown))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompareQuery {
    a: String,
    b: String,
}

/// `GET /tasks/{id}/compare`: by default, the first attempt with the last one.
pub(super) async fn compare(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    query_result: QueryResult<CompareQuery>,
) -> PageResult {
    let task = find_task(&dashboard, &login, &id).await?;
    let run = run_of(&login, &task)?;
    let query = query_or_default(query_result);
    let with_tree = || run.attempts.iter().filter(|it| it.tree.is_some());
    let number = |attempt: Option<&Attempt>| attempt.map_or(0, |it| it.attempt_number);
    let numbers = [
        query.a.parse().unwrap_or(number(with_tree().next())),
        query.b.parse().unwrap_or(number(with_tree().next_back())),
    ];
    let mut diffs = [DiffContent::default(), DiffContent::default()];
    for (number, diff) in numbers.into_iter().zip(&mut diffs) {
        let range = DiffRange::SinceStart(number);
        let found = dashboard.backend.diff(&task, range).await;
        *diff = found.map_err(error_page(&login))?;
    }
    let frame = page_frame(&login, "Compare attempts", NavItem::Tasks);
    let build = move || {
        let run = task.run();
        run.and_then(|run| ComparePage::new(frame, &task, run, numbers, &diffs, Timestamp::now()))
            .ok_or_else(|| DashboardError::NotFound("unknown attempt".to_owned()))
    };
    render_diff_page(&login, build).await
}

/// `GET /tasks/{id}/review`: the work that is awaiting review.
pub(super) async fn review(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
) -> PageResult {
    let task = find_task(&dashboard, &login, &id).await?;
    let run = run_of(&login, &task)?;
    let none = || DashboardError::Refused("the task is not awaiting review".to_owned());
    let pending = task.review.as_ref().filter(|_| task.rights.review);
    let pending = pending.ok_or_else(|| error_page(&login)(none()))?;
    let held = dashboard
        .held
        .get(&pending.task, &pending.target, Timestamp::now());
    if held.is_some_and(|it| it.failure.is_none()) {
        return Ok(redirect_to(&format!("/tasks/{}", pending.task)));
    }
    let attempt = pending
        .target
        .attempt
        .and_then(|number| run.attempt(number));
    let attempt = attempt.ok_or_else(|| error_page(&login)(none()))?;
    let range = DiffRange::SinceStart(attempt.attempt_number);
    // Without snapshots there is no diff, but a decision is still possible.
    let diff = dashboard.backend.diff(&task, range).await;
    let diff = diff.unwrap_or_default();
    let frame = page_frame(&login, "Review", NavItem::Tasks);
    let build = move || {
        let page = || {
            let (run, pending) = (task.run()?, task.review.as_ref()?);
            let attempt = run.attempt(pending.target.attempt?)?;
            Some(ReviewPage::new(frame, &task, run, attempt, pending, &diff))
        };
        page().ok_or_else(none)
    };
    render_diff_page(&login, build).await
}

/// Builds and renders a page with a diff. That may take a while, so other requests are not blocked meanwhile.
async fn render_diff_page<P: Template>(
    login: &RequestSession,
    build: impl FnOnce() -> Result<P, DashboardError> + Send + 'static,
) -> PageResult {
    let render = move || build().map(|page| render_page(StatusCode::OK, &page));
    let rendered = tokio::task::spawn_blocking(render).await;
    let rendered = rendered.unwrap_or_else(|panic| Err(DashboardError::failed(panic)));
    rendered.map_err(error_page(login))
}

/// The last activity of an open session. Unreadable data is skipped: it is not evidence.
async fn live_activity(dashboard: &Dashboard, task: &TaskDetail) -> Vec<ActivityItem> {
    let (run, output) = match &task.live {
        LiveActivity::Unknown => return Vec::new(),
        LiveActivity::Activity(events) => return items_from_events(events),
        LiveActivity::Transcript(run, output) => (*run, output),
    };
    let end = async {
        let size_probe = dashboard
            .backend
            .output(task, run, output, 0, 0)
            .await
            .ok()?;
        let from = size_probe.total.saturating_sub(LIVE_BYTES);
        let length = usize::try_from(LIVE_BYTES).ok()?;
        let slice = dashboard
            .backend
            .output(task, run, output, from, length)
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
    Extension(login): Extension<RequestSession>,
    Path((id, number)): Path<(String, u32)>,
    query_result: QueryResult<DiffQuery>,
) -> PageResult {
    let task = find_task(&dashboard, &login, &id).await?;
    run_of(&login, &task)?;
    let query = query_or_default(query_result);
    let since_start = query.from == "start";
    let between = if since_start {
        DiffRange::SinceStart(number)
    } else {
        DiffRange::Attempt(number)
    };
    let diff = dashboard.backend.diff(&task, between).await;
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
    show_diff(&login, &task, shown, diff).await
}

/// All changes of a task.
pub(super) async fn full_diff(
    dashboard: &Dashboard,
    login: &RequestSession,
    task: &TaskDetail,
) -> Result<DiffContent, Response> {
    if !matches!(task.history, TaskHistory::Subtasks { .. }) {
        run_of(login, task)?;
    }
    let diff = dashboard.backend.diff(task, DiffRange::Whole).await;
    diff.map_err(error_page(login))
}

/// `GET /tasks/{id}/diff`.
pub(super) async fn task_diff(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
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
        let attempts = attempts.filter(|it| it.from_tree.is_some() && it.tree.is_some());
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
    show_diff(&login, &task, shown, diff).await
}

/// The diff that is shown, and links to the others.
struct DiffHeader {
    heading: String,
    other: Vec<(String, String)>,
    raw: String,
}

async fn show_diff(
    login: &RequestSession,
    task: &TaskDetail,
    shown: DiffHeader,
    diff: DiffContent,
) -> PageResult {
    let id = &task.row.id;
    let back = (
        format!("/tasks/{id}"),
        single_line(&task.row.description, 80),
    );
    let frame = page_frame(login, &shown.heading, NavItem::Tasks);
    let DiffHeader {
        heading,
        other,
        raw,
    } = shown;
    let build = move || Ok(DiffPage::new(frame, heading, back, other, raw, &diff));
    render_diff_page(login, build).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatsQuery {
    days: String,
    /// The repository or worker.
    name: String,
}

impl StatsQuery {
    fn days(&self) -> Option<u32> {
        self.days.parse().ok().filter(|days| *days <= 36_500)
    }
}

/// `GET /repository?name=NAME`.
pub(super) async fn repository(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    query_result: QueryResult<StatsQuery>,
) -> PageResult {
    let query = query_or_default(query_result);
    source_page(&dashboard, &login, SourceKind::Repository, &query).await
}

/// `GET /worker?name=NAME`.
pub(super) async fn worker(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    query_result: QueryResult<StatsQuery>,
) -> PageResult {
    let query = query_or_default(query_result);
    source_page(&dashboard, &login, SourceKind::Worker, &query).await
}

async fn source_page(
    dashboard: &Dashboard,
    login: &RequestSession,
    kind: SourceKind,
    params: &StatsQuery,
) -> PageResult {
    let now = Timestamp::now();
    let (name, days) = (params.name.as_str(), params.days());
    let query = TaskQuery {
        since: StatsPeriod::last_days(days, now).0,
        ..kind.query(name, days)
    };
    let tasks = dashboard.backend.tasks(&login.user, &query).await;
    let tasks = tasks.map_err(error_page(login))?;
    let worker = if kind == SourceKind::Worker {
        let fleet = dashboard.backend.fleet(&login.user).await;
        let workers = fleet
            .map_err(error_page(login))?
            .unwrap_or_default()
            .workers;
        workers.into_iter().find(|worker| worker.name == name)
    } else {
        None
    };
    let mut runs = dashboard.backend.run_stats(&login.user).await;
    let runs = runs
        .as_mut()
        .map_err(|error| error_page(login)(error.clone()))?;
    runs.retain(|run| match kind {
        SourceKind::Repository => run.workspace == name,
        SourceKind::Worker => run.worker.as_deref() == Some(name),
    });
    if runs.is_empty() && tasks.matching == 0 && worker.is_none() && days.is_none() {
        let what = match kind {
            SourceKind::Repository => "there are no tasks in this repository",
            SourceKind::Worker => "worker not found",
        };
        return Err(error_page(login)(DashboardError::NotFound(what.to_owned())));
    }
    let period = StatsPeriod(query.since);
    let figures = StatsReport::from_runs(runs, period, &TimeZone::system());
    let (title, nav_item) = match kind {
        SourceKind::Repository => ("Repository", NavItem::Stats),
        SourceKind::Worker => ("Worker", NavItem::Fleet),
    };
    let title = format!("{title} {}", single_line(name, 60));
    let frame = page_frame(login, &title, nav_item);
    let shown = SourcePage::new(
        frame,
        kind,
        name,
        &query,
        &tasks,
        &figures,
        worker.as_ref(),
        now,
    );
    Ok(render_page(StatusCode::OK, &shown))
}

/// `GET /stats`.
pub(super) async fn stats(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    query_result: QueryResult<StatsQuery>,
) -> PageResult {
    let days = query_or_default(query_result).days();
    let run_stats = dashboard.backend.run_stats(&login.user).await;
    let run_stats = run_stats.map_err(error_page(&login))?;
    let since = StatsPeriod::last_days(days, Timestamp::now());
    let figures = StatsReport::from_runs(&run_stats, since, &TimeZone::system());
    let frame = page_frame(&login, "Insights", NavItem::Stats);
    let shown = StatsPage::new(frame, &figures, days);
    Ok(render_page(StatusCode::OK, &shown))
}

/// `GET /fleet`.
pub(super) async fn fleet(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
) -> PageResult {
    let fleet = dashboard.backend.fleet(&login.user).await;
    let Some(fleet) = fleet.map_err(error_page(&login))? else {
        let error = DashboardError::NotFound("only a hub has workers".to_owned());
        return Err(error_page(&login)(error));
    };
    let frame = live_frame(&dashboard, &login, "Workers", NavItem::Fleet, None).await?;
    let shown = FleetPage::new(frame, &fleet, Timestamp::now());
    Ok(render_page(StatusCode::OK, &shown))
}
