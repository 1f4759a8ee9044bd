//! Stored outputs, page by page or raw, and the downloads of a task.

use std::path::Path as FilePath;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use selvedge_core::export::{self, LocationResolver, ReportInput};
use selvedge_core::model::{CheckReport, OutputRef, PlanResult, RunId};
use selvedge_core::run::Run;
use serde::Deserialize;

use super::auth::RequestSession;
use super::logs::LogIndex;
use super::respond::{PageResult, page_frame, redirect_to, render_page};
use super::views::{error_page, find_task, full_diff, run_of};
use super::{Dashboard, SharedDashboard, VERSION};
use crate::backend::{
    DashboardError, DiffContent, OutputSlice, PlanDetail, TaskDetail, TaskHistory,
};
use crate::pages::{NavItem, OutputHeader, OutputLines, OutputPage, last_page, page_range};
use crate::story::salient_line;
use crate::text::single_line;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputPageParams {
    page: String,
    /// A text to search for.
    q: String,
    /// `failure` to open the page with the first failure.
    at: String,
}

/// Outputs up to this size are read completely for each page: for line numbers and failures.
const SCAN_ALWAYS_BYTES: u64 = 4 * 1024 * 1024;
/// How much of an output is searched.
const MAX_SCAN_BYTES: usize = 16 * 1024 * 1024;
/// Longest text to search for, in characters.
const MAX_SEARCH_CHARS: usize = 200;
/// Bytes per read when a whole output is downloaded.
const CHUNK_BYTES: usize = 256 * 1024;

/// One stored output of a task.
struct StoredOutput {
    task: TaskDetail,
    run: RunId,
    output: OutputRef,
    base: String,
    heading: String,
    /// Texts of the failures that the check reported.
    failures: Vec<String>,
}

/// Selects an output of a run by the URL.
#[derive(Clone, Copy)]
enum OutputSelector {
    Check(u32, usize),
    Baseline(usize),
    Transcript(u32),
}

async fn find_output(
    dashboard: &Dashboard,
    login: &RequestSession,
    id: &str,
    selector: OutputSelector,
) -> Result<StoredOutput, Response> {
    let task = find_task(dashboard, login, id).await?;
    let run = run_of(login, &task)?;
    let none = || {
        error_page(login)(DashboardError::NotFound(
            "no output is stored for this check or session".to_owned(),
        ))
    };
    let (output, heading, place) = select_output(run, selector).ok_or_else(none)?;
    let (output, failures) = (output.clone(), failures_of(run, selector));
    let run = run.run_id;
    Ok(StoredOutput {
        base: format!("/tasks/{id}/{place}"),
        task,
        run,
        output,
        heading,
        failures,
    })
}

fn find_check(run: &Run, selector: OutputSelector) -> Option<&CheckReport> {
    let (checks, check) = match selector {
        OutputSelector::Check(number, check) => {
            (&run.attempt(number)?.report.as_ref()?.checks, check)
        }
        OutputSelector::Baseline(check) => (&run.baseline.as_ref()?.checks, check),
        OutputSelector::Transcript(_) => return None,
    };
    checks.get(check.checked_sub(1)?)
}

/// The texts by which the failures of a check are found in its output: the message, or else the
/// test's name.
fn failures_of(run: &Run, selector: OutputSelector) -> Vec<String> {
    let check = find_check(run, selector);
    let failures = check.iter().flat_map(|check| &check.failures);
    let texts = failures.map(|failure| {
        let id = failure.id.clone();
        Some(failure.summary.clone())
            .filter(|it| !it.is_empty())
            .or(id)
    });
    let mut texts: Vec<String> = texts.flatten().collect();
    // A tool of an unknown format reports no failures by themselves.
    let failed = check.filter(|check| texts.is_empty() && check.status.is_failure());
    let digest = failed.and_then(|check| check.digest.as_deref());
    texts.extend(digest.and_then(salient_line).map(str::to_owned));
    texts
}

fn select_output(run: &Run, selector: OutputSelector) -> Option<(&OutputRef, String, String)> {
    match selector {
        OutputSelector::Check(number, check) => {
            let found = find_check(run, selector)?;
            let heading = format!("{}, attempt {number}", single_line(found.label(), 80));
            let place = format!("attempts/{number}/checks/{check}");
            Some((found.output_ref.as_ref()?, heading, place))
        }
        OutputSelector::Baseline(check) => {
            let found = find_check(run, selector)?;
            let heading = format!("{}, baseline", single_line(found.label(), 80));
            let place = format!("baseline/checks/{check}");
            Some((found.output_ref.as_ref()?, heading, place))
        }
        OutputSelector::Transcript(number) => {
            let session = run.attempt(number)?.session.as_ref()?;
            let heading = format!("Agent output, attempt {number}");
            let place = format!("attempts/{number}/transcript");
            Some((session.transcript.as_ref()?, heading, place))
        }
    }
}

/// Reads a part of the output. An output that was empty need not be stored.
async fn read_slice(
    dashboard: &Dashboard,
    stored: &StoredOutput,
    from: u64,
    length: usize,
) -> Result<OutputSlice, DashboardError> {
    if stored.output.bytes == 0 {
        return Ok(OutputSlice::default());
    }
    let reading = dashboard
        .backend
        .output(&stored.task, stored.run, &stored.output, from, length);
    reading.await
}

async fn output_page(
    dashboard: &Dashboard,
    login: &RequestSession,
    id: &str,
    selector: OutputSelector,
    params: OutputPageParams,
) -> PageResult {
    let stored = find_output(dashboard, login, id, selector).await?;
    let size = read_slice(dashboard, &stored, 0, 0).await;
    let total = size.map_err(error_page(login))?.total;
    let search: String = params.q.trim().chars().take(MAX_SEARCH_CHARS).collect();
    let scanned = if total <= SCAN_ALWAYS_BYTES || !search.is_empty() {
        let slice = read_slice(dashboard, &stored, 0, MAX_SCAN_BYTES).await;
        Some(slice.map_err(error_page(login))?.bytes)
    } else {
        None
    };
    let index = scanned.as_deref().map(LogIndex::new);
    let failures = index
        .as_ref()
        .map_or_else(Vec::new, |index| index.find_failures(&stored.failures));
    if params.at == "failure"
        && let Some(first) = failures.first()
    {
        let (base, page, line) = (&stored.base, first.page, first.line);
        return Ok(redirect_to(&format!("{base}?page={page}#L{line}")));
    }
    let requested = params.page.parse().unwrap_or(1);
    let number = u64::clamp(requested, 1, last_page(total));
    let (from, length) = page_range(number);
    let slice = read_slice(dashboard, &stored, from, length).await;
    let slice = slice.map_err(error_page(login))?;
    let (matches, more_matches) = match &index {
        Some(index) if !search.is_empty() => index.search(&search),
        _ => (Vec::new(), false),
    };
    let first = match &index {
        Some(index) => index.first_line(number),
        None => (number == 1).then_some(1),
    };
    let (headings, more_headings) = index
        .as_ref()
        .map_or_else(|| (Vec::new(), false), LogIndex::sections);
    let lines = OutputLines {
        first,
        failures,
        headings,
        more_headings,
        search,
        matches,
        more_matches,
    };
    let output_header = OutputHeader {
        base: stored.base,
        heading: stored.heading.clone(),
        back: (
            format!("/tasks/{id}"),
            single_line(&stored.task.row.description, 80),
        ),
        left_out: stored.output.left_out,
    };
    let frame = page_frame(login, &stored.heading, NavItem::Tasks);
    let shown = OutputPage::new(frame, output_header, number, &slice, lines);
    Ok(render_page(StatusCode::OK, &shown))
}

/// Sends all bytes as a file download; the browser never displays them.
async fn raw_output(
    dashboard: SharedDashboard,
    login: &RequestSession,
    id: &str,
    selector: OutputSelector,
) -> PageResult {
    let stored = find_output(&dashboard, login, id, selector).await?;
    let name = format!(
        "{}-{}.txt",
        stored.task.row.short,
        stored.base.rsplit('/').next().unwrap_or("output")
    );
    // The first part is read before the response begins, so that a missing output gets an error page.
    let first = read_slice(&dashboard, &stored, 0, CHUNK_BYTES).await;
    let first = first.map_err(error_page(login))?;
    let next = u64::try_from(first.bytes.len()).unwrap_or(0);
    let rest = stream::unfold(Some((dashboard, stored, next)), async |state| {
        let (dashboard, stored, from) = state?;
        match read_slice(&dashboard, &stored, from, CHUNK_BYTES).await {
            Ok(slice) if slice.bytes.is_empty() => None,
            Ok(slice) => {
                let next = from + u64::try_from(slice.bytes.len()).unwrap_or(0);
                Some((Ok(slice.bytes), Some((dashboard, stored, next))))
            }
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    // The compression layer polls once more after the end.
    let chunks = stream::once(async { Ok(first.bytes) }).chain(rest).fuse();
    Ok(attachment(
        "application/octet-stream",
        &name,
        Body::from_stream(chunks),
    ))
}

/// A diff as a file. A truncated diff is rejected, because it would be applied as if it were complete.
pub(super) fn patch_response(login: &RequestSession, name: &str, diff: DiffContent) -> PageResult {
    if diff.truncated {
        let error = "the patch is too large to download; `selvedge show --diff` prints it";
        return Err(error_page(login)(DashboardError::Refused(error.to_owned())));
    }
    Ok(attachment("application/octet-stream", name, diff.bytes))
}

fn attachment(kind: &'static str, name: &str, body: impl Into<Body>) -> Response {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let name: String = name.chars().filter(|c| plain(*c)).collect();
    let disposition = format!("attachment; filename=\"selvedge-{name}\"");
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, body.into()).into_response()
}

type PageQuery = Query<OutputPageParams>;

/// `GET /tasks/{id}/attempts/{number}/checks/{check}`.
pub(super) async fn check(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, number, check)): Path<(String, u32, usize)>,
    Query(page_query): PageQuery,
) -> PageResult {
    output_page(
        &dashboard,
        &login,
        &id,
        OutputSelector::Check(number, check),
        page_query,
    )
    .await
}

/// `GET /tasks/{id}/attempts/{number}/checks/{check}/raw`.
pub(super) async fn check_raw(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, number, check)): Path<(String, u32, usize)>,
) -> PageResult {
    raw_output(dashboard, &login, &id, OutputSelector::Check(number, check)).await
}

/// `GET /tasks/{id}/baseline/checks/{check}`.
pub(super) async fn baseline(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, check)): Path<(String, usize)>,
    Query(page_query): PageQuery,
) -> PageResult {
    output_page(
        &dashboard,
        &login,
        &id,
        OutputSelector::Baseline(check),
        page_query,
    )
    .await
}

/// `GET /tasks/{id}/baseline/checks/{check}/raw`.
pub(super) async fn baseline_raw(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, check)): Path<(String, usize)>,
) -> PageResult {
    raw_output(dashboard, &login, &id, OutputSelector::Baseline(check)).await
}

/// `GET /tasks/{id}/attempts/{number}/transcript`.
pub(super) async fn transcript(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, number)): Path<(String, u32)>,
    Query(page_query): PageQuery,
) -> PageResult {
    output_page(
        &dashboard,
        &login,
        &id,
        OutputSelector::Transcript(number),
        page_query,
    )
    .await
}

/// `GET /tasks/{id}/attempts/{number}/transcript/raw`.
pub(super) async fn transcript_raw(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, number)): Path<(String, u32)>,
) -> PageResult {
    raw_output(dashboard, &login, &id, OutputSelector::Transcript(number)).await
}

/// `GET /tasks/{id}/download/{form}`.
pub(super) async fn download(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path((id, form)): Path<(String, String)>,
) -> PageResult {
    let none = |what: &str| {
        Err(error_page(&login)(DashboardError::NotFound(
            what.to_owned(),
        )))
    };
    let task = find_task(&dashboard, &login, &id).await?;
    let name = task.row.short.clone();
    if form == "patch" {
        let diff = full_diff(&dashboard, &login, &task).await?;
        return patch_response(&login, &format!("{name}.patch"), diff);
    }
    let plan_detail = match &task.history {
        TaskHistory::Subtasks { .. } => {
            let plan = dashboard.backend.plan(&login.user, &id).await;
            Some(plan.map_err(error_page(&login))?)
        }
        _ => None,
    };
    let plan = plan_result(&task, plan_detail.as_ref());
    let Some((account, workspace)) = report_input(&task, plan.as_ref(), plan_detail.as_ref())
    else {
        return none("the task has not started");
    };
    if form == "json" {
        let json = match &task.history {
            TaskHistory::Run(run) => serde_json::to_string_pretty(&run.result()),
            _ => serde_json::to_string_pretty(&plan),
        };
        let json = json.map_err(|error| error_page(&login)(DashboardError::failed(error)))?;
        let name = format!("{name}.json");
        return Ok(attachment("application/json", &name, json + "\n"));
    }
    let location_resolver = LocationResolver {
        repository: workspace,
        workspace,
        exists: &|_: &FilePath| false,
    };
    let (kind, extension, text) = match form.as_str() {
        "junit" => ("application/xml", "xml", export::junit(&account)),
        "sarif" => {
            let sarif = export::sarif(&account, &location_resolver, VERSION);
            ("application/json", "sarif", sarif)
        }
        "markdown" => ("text/markdown", "md", export::markdown(&account)),
        _ => return none("unknown download format"),
    };
    Ok(attachment(kind, &format!("{name}.{extension}"), text))
}

/// The result of a plan, as the command line prints it.
fn plan_result(task: &TaskDetail, plan_detail: Option<&PlanDetail>) -> Option<PlanResult> {
    if let TaskHistory::Plan { plan, runs } = &task.history {
        let results = runs.iter().map(|(id, run)| (*id, run.result()));
        return Some(plan.result(&results.collect()));
    }
    plan_detail.map(|plan_detail| plan_detail.result.clone())
}

/// The data of a task's report and its workspace; `None` before the task has started.
fn report_input<'a>(
    task: &'a TaskDetail,
    plan: Option<&'a PlanResult>,
    plan_detail: Option<&'a PlanDetail>,
) -> Option<(ReportInput<'a>, &'a FilePath)> {
    match &task.history {
        TaskHistory::NotStarted => None,
        TaskHistory::Run(run) => Some((ReportInput::of_run(run), &run.spec.workspace)),
        TaskHistory::Plan { plan: of, runs } => {
            let account = ReportInput::of_plan(plan?, &of.spec.description, runs);
            Some((account, &of.spec.workspace))
        }
        TaskHistory::Subtasks { .. } => {
            let account = ReportInput::of_plan(plan?, &task.description, &plan_detail?.runs);
            Some((account, FilePath::new(&task.row.workspace)))
        }
    }
}
