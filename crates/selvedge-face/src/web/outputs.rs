//! What was printed, page by page or as it is, and what others read of a task.

use std::path::Path as FilePath;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use selvedge_core::export::{self, Account, Places};
use selvedge_core::machine::Run;
use selvedge_core::model::{OutputRef, PlanResult, RunId};
use serde::Deserialize;

use super::door::Inside;
use super::look::{find, on_page, run_of, whole};
use super::respond::{Page, frame, page};
use super::{Face, Shared, VERSION};
use crate::pages::{Here, OutputPage, Which, range};
use crate::reading::{Diff, Slice, Story, Task, Trouble, WholePlan};
use crate::text::line;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Number {
    page: String,
}

/// Pages that an address may name: a petabyte of them.
const LAST: u64 = 1 << 34;
/// Bytes that are read at once for whoever takes all of them.
const CHUNK: usize = 256 * 1024;

/// One stored output of a task.
struct Stored {
    task: Task,
    run: RunId,
    output: OutputRef,
    base: String,
    heading: String,
}

/// Which output an address means.
#[derive(Clone, Copy)]
enum Wanted {
    Check(u32, usize),
    Baseline(usize),
    Transcript(u32),
}

async fn stored(
    face: &Face,
    inside: &Inside,
    id: &str,
    wanted: Wanted,
) -> Result<Stored, Response> {
    let task = find(face, inside, id).await?;
    let run = run_of(inside, &task)?;
    let none = || on_page(inside)(Trouble::NotFound("nothing was printed there".to_owned()));
    let (output, heading, place) = pick(run, wanted).ok_or_else(none)?;
    let (output, run) = (output.clone(), run.run_id);
    Ok(Stored {
        base: format!("/tasks/{id}/{place}"),
        task,
        run,
        output,
        heading,
    })
}

fn pick(run: &Run, wanted: Wanted) -> Option<(&OutputRef, String, String)> {
    match wanted {
        Wanted::Check(number, check) => {
            let checks = &run.attempt(number)?.report.as_ref()?.checks;
            let found = checks.get(check.checked_sub(1)?)?;
            let heading = format!("{}, attempt {number}", line(found.label(), 80));
            let place = format!("attempts/{number}/checks/{check}");
            Some((found.output_ref.as_ref()?, heading, place))
        }
        Wanted::Baseline(check) => {
            let found = run.baseline.as_ref()?.checks.get(check.checked_sub(1)?)?;
            let heading = format!("{}, before the agent began", line(found.label(), 80));
            let place = format!("baseline/checks/{check}");
            Some((found.output_ref.as_ref()?, heading, place))
        }
        Wanted::Transcript(number) => {
            let session = run.attempt(number)?.session.as_ref()?;
            let heading = format!("All that the agent printed, attempt {number}");
            let place = format!("attempts/{number}/transcript");
            Some((session.transcript.as_ref()?, heading, place))
        }
    }
}

/// A piece of it. Of what nobody printed, nothing needs to be kept.
async fn read(face: &Face, stored: &Stored, from: u64, length: usize) -> Result<Slice, Trouble> {
    if stored.output.bytes == 0 {
        return Ok(Slice::default());
    }
    let reading = face
        .reading
        .output(stored.run, &stored.output, from, length);
    reading.await
}

async fn paged(face: &Face, inside: &Inside, id: &str, wanted: Wanted, number: Number) -> Page {
    let stored = stored(face, inside, id, wanted).await?;
    let number = number.page.parse().unwrap_or(1).clamp(1, LAST);
    let (from, length) = range(number);
    let slice = read(face, &stored, from, length).await;
    let slice = slice.map_err(on_page(inside))?;
    let which = Which {
        base: stored.base,
        heading: stored.heading.clone(),
        back: (
            format!("/tasks/{id}"),
            line(&stored.task.row.description, 80),
        ),
        left_out: stored.output.left_out,
    };
    let frame = frame(inside, &stored.heading, Here::Tasks);
    let shown = OutputPage::new(frame, which, number, &slice);
    Ok(page(StatusCode::OK, &shown))
}

/// All bytes as they are, for a file: never shown by the browser.
async fn raw(face: Shared, inside: &Inside, id: &str, wanted: Wanted) -> Page {
    let stored = stored(&face, inside, id, wanted).await?;
    let name = format!(
        "{}-{}.txt",
        stored.task.row.short,
        stored.base.rsplit('/').next().unwrap_or("output")
    );
    // The first of it is read before anything is answered: what is not there has a page that says so.
    let first = read(&face, &stored, 0, CHUNK).await;
    let first = first.map_err(on_page(inside))?;
    let next = u64::try_from(first.bytes.len()).unwrap_or(0);
    let rest = stream::unfold(Some((face, stored, next)), async |state| {
        let (face, stored, from) = state?;
        match read(&face, &stored, from, CHUNK).await {
            Ok(slice) if slice.bytes.is_empty() => None,
            Ok(slice) => {
                let next = from + u64::try_from(slice.bytes.len()).unwrap_or(0);
                Some((Ok(slice.bytes), Some((face, stored, next))))
            }
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    // What compresses an answer asks once more after its end.
    let chunks = stream::once(async { Ok(first.bytes) }).chain(rest).fuse();
    Ok(attachment(
        "application/octet-stream",
        &name,
        Body::from_stream(chunks),
    ))
}

/// A diff as a file. Half of one would be applied as if it were whole.
pub(super) fn patch(inside: &Inside, name: &str, diff: Diff) -> Page {
    if diff.truncated {
        let error = "the patch is too long for a download; `selvedge show --diff` prints it";
        return Err(on_page(inside)(Trouble::Refused(error.to_owned())));
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

type Asked = Query<Number>;

/// `GET /tasks/{id}/attempts/{number}/checks/{check}`.
pub(super) async fn check(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, number, check)): Path<(String, u32, usize)>,
    Query(asked): Asked,
) -> Page {
    paged(&face, &inside, &id, Wanted::Check(number, check), asked).await
}

/// `GET /tasks/{id}/attempts/{number}/checks/{check}/raw`.
pub(super) async fn check_raw(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, number, check)): Path<(String, u32, usize)>,
) -> Page {
    raw(face, &inside, &id, Wanted::Check(number, check)).await
}

/// `GET /tasks/{id}/baseline/checks/{check}`.
pub(super) async fn baseline(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, check)): Path<(String, usize)>,
    Query(asked): Asked,
) -> Page {
    paged(&face, &inside, &id, Wanted::Baseline(check), asked).await
}

/// `GET /tasks/{id}/baseline/checks/{check}/raw`.
pub(super) async fn baseline_raw(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, check)): Path<(String, usize)>,
) -> Page {
    raw(face, &inside, &id, Wanted::Baseline(check)).await
}

/// `GET /tasks/{id}/attempts/{number}/transcript`.
pub(super) async fn transcript(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, number)): Path<(String, u32)>,
    Query(asked): Asked,
) -> Page {
    paged(&face, &inside, &id, Wanted::Transcript(number), asked).await
}

/// `GET /tasks/{id}/attempts/{number}/transcript/raw`.
pub(super) async fn transcript_raw(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, number)): Path<(String, u32)>,
) -> Page {
    raw(face, &inside, &id, Wanted::Transcript(number)).await
}

/// `GET /tasks/{id}/download/{form}`.
pub(super) async fn download(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, form)): Path<(String, String)>,
) -> Page {
    let none = |what: &str| Err(on_page(&inside)(Trouble::NotFound(what.to_owned())));
    let task = find(&face, &inside, &id).await?;
    let name = task.row.short.clone();
    if form == "patch" {
        let diff = whole(&face, &inside, &task).await?;
        return patch(&inside, &format!("{name}.patch"), diff);
    }
    let whole = match &task.story {
        Story::Parts { .. } => {
            let plan = face.reading.plan(&inside.visitor, &id).await;
            Some(plan.map_err(on_page(&inside))?)
        }
        _ => None,
    };
    let plan = plan_result(&task, whole.as_ref());
    let Some((account, workspace)) = told(&task, plan.as_ref(), whole.as_ref()) else {
        return none("it has not begun");
    };
    if form == "json" {
        let json = match &task.story {
            Story::Run(run) => serde_json::to_string_pretty(&run.result()),
            _ => serde_json::to_string_pretty(&plan),
        };
        let json = json.map_err(|error| on_page(&inside)(Trouble::failed(error)))?;
        let name = format!("{name}.json");
        return Ok(attachment("application/json", &name, json + "\n"));
    }
    let places = Places {
        repository: workspace,
        workspace,
        exists: &|_: &FilePath| false,
    };
    let (kind, extension, text) = match form.as_str() {
        "junit" => ("application/xml", "xml", export::junit(&account)),
        "sarif" => {
            let sarif = export::sarif(&account, &places, VERSION);
            ("application/json", "sarif", sarif)
        }
        "markdown" => ("text/markdown", "md", export::markdown(&account)),
        _ => return none("there is no such form"),
    };
    Ok(attachment(kind, &format!("{name}.{extension}"), text))
}

/// The result of a plan, as the command line prints it.
fn plan_result(task: &Task, whole: Option<&WholePlan>) -> Option<PlanResult> {
    if let Story::Plan { plan, runs } = &task.story {
        let results = runs.iter().map(|(id, run)| (*id, run.result()));
        return Some(plan.result(&results.collect()));
    }
    whole.map(|whole| whole.result.clone())
}

/// What is told of a task, and where it took place; nothing before it has begun.
fn told<'a>(
    task: &'a Task,
    plan: Option<&'a PlanResult>,
    whole: Option<&'a WholePlan>,
) -> Option<(Account<'a>, &'a FilePath)> {
    match &task.story {
        Story::Untold => None,
        Story::Run(run) => Some((Account::of_run(run), &run.spec.workspace)),
        Story::Plan { plan: of, runs } => {
            let account = Account::of_plan(plan?, &of.spec.description, runs);
            Some((account, &of.spec.workspace))
        }
        Story::Parts { .. } => {
            let account = Account::of_plan(plan?, &task.description, &whole?.runs);
            Some((account, FilePath::new(&task.row.workspace)))
        }
    }
}
