//! The pages to look at.

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::machine::Run;
use serde::Deserialize;

use super::door::Inside;
use super::outputs::patch;
use super::respond::{Page, frame, page, trouble};
use super::{Face, Shared};
use crate::pages::{
    DiffPage, FleetPage, Frame, Here, Moment, StatsPage, TaskPage, TasksPage, moments, told,
};
use crate::reading::{Between, Diff, Live, RawQuery, Story, Task, TaskQuery, Trouble};
use crate::stats::{Figures, Since};
use crate::text::line;

/// A query that was read, whatever stands in it.
type Asked<T> = Result<Query<T>, QueryRejection>;

/// How much of what an agent printed is looked at for its last moments, in bytes.
const LIVE_BYTES: u64 = 48 * 1024;

fn said<T: Default>(asked: Asked<T>) -> T {
    asked.map(|Query(query)| query).unwrap_or_default()
}

/// A trouble on its page.
pub(super) fn on_page(inside: &Inside) -> impl Fn(Trouble) -> Response {
    |error| trouble(Some(inside), &error)
}

/// The frame of a page that tells news.
async fn living(
    face: &Face,
    inside: &Inside,
    title: &str,
    here: Here,
    task: Option<&str>,
) -> Result<Frame, Response> {
    let pulse = face.reading.pulse(&inside.visitor, task).await;
    let pulse = pulse.map_err(on_page(inside))?;
    let live = task.map_or_else(|| "/events".to_owned(), |id| format!("/events?task={id}"));
    Ok(Frame {
        live,
        pulse,
        ..frame(inside, title, here)
    })
}

/// `GET /`.
pub(super) async fn tasks(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    asked: Asked<RawQuery>,
) -> Page {
    let query = TaskQuery::from(said(asked));
    let frame = living(&face, &inside, "Tasks", Here::Tasks, None).await?;
    let tasks = face.reading.tasks(&inside.visitor, &query).await;
    let tasks = tasks.map_err(on_page(&inside))?;
    let shown = TasksPage::new(frame, &query, &tasks, Timestamp::now());
    Ok(page(StatusCode::OK, &shown))
}

/// One task, as its name in the address says.
pub(super) async fn find(face: &Face, inside: &Inside, id: &str) -> Result<Task, Response> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !id.bytes().all(plain) || id.len() > 64 {
        let error = Trouble::NotFound("that is no task's name".to_owned());
        return Err(on_page(inside)(error));
    }
    let task = face.reading.task(&inside.visitor, id).await;
    task.map_err(on_page(inside))
}

/// The run of a task that is one.
pub(super) fn run_of<'a>(inside: &Inside, task: &'a Task) -> Result<&'a Run, Response> {
    match &task.story {
        Story::Run(run) => Ok(run),
        Story::Untold => {
            let error = Trouble::NotFound("it has not begun".to_owned());
            Err(on_page(inside)(error))
        }
        Story::Plan { .. } | Story::Parts { .. } => {
            let error =
                Trouble::NotFound("a plan has parts, each with a page of its own".to_owned());
            Err(on_page(inside)(error))
        }
    }
}

/// `GET /tasks/{id}`.
pub(super) async fn task(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
) -> Page {
    let pulse = face.reading.pulse(&inside.visitor, Some(&id)).await;
    let task = find(&face, &inside, &id).await?;
    let title = line(&task.row.description, 60);
    let frame = Frame {
        live: format!("/events?task={}", task.row.id),
        pulse: pulse.map_err(on_page(&inside))?,
        ..frame(&inside, &title, Here::Tasks)
    };
    let live = live(&face, &task).await;
    let shown = TaskPage::new(frame, &task, live, Timestamp::now());
    Ok(page(StatusCode::OK, &shown))
}

/// What an open session did last. What cannot be read is left out: it is no evidence.
async fn live(face: &Face, task: &Task) -> Vec<Moment> {
    let (run, output) = match &task.live {
        Live::Unknown => return Vec::new(),
        Live::Told(events) => return told(events),
        Live::Printed(run, output) => (*run, output),
    };
    let end = async {
        let known = face.reading.output(run, output, 0, 0).await.ok()?;
        let from = known.total.saturating_sub(LIVE_BYTES);
        let length = usize::try_from(LIVE_BYTES).ok()?;
        let slice = face.reading.output(run, output, from, length).await.ok()?;
        Some(moments(&slice.bytes, from == 0))
    };
    end.await.unwrap_or_default()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    from: String,
    /// `patch` for a file of its bytes.
    r#as: String,
}

/// An address that there is not.
pub(super) async fn lost() -> Response {
    let error = Trouble::NotFound("this address leads nowhere".to_owned());
    trouble(None, &error)
}

/// `GET /tasks/{id}/attempts/{number}/diff`.
pub(super) async fn attempt_diff(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path((id, number)): Path<(String, u32)>,
    asked: Asked<From>,
) -> Page {
    let task = find(&face, &inside, &id).await?;
    let run = run_of(&inside, &task)?;
    let asked = said(asked);
    let since_start = asked.from == "start";
    let between = if since_start {
        Between::SinceStart(number)
    } else {
        Between::Attempt(number)
    };
    let diff = face.reading.diff(&task, run.run_id, between).await;
    let diff = diff.map_err(on_page(&inside))?;
    if asked.r#as == "patch" {
        let since = if since_start { "-since-start" } else { "" };
        let name = format!("{}-attempt-{number}{since}.patch", task.row.short);
        return patch(&inside, &name, diff);
    }
    let base = format!("/tasks/{id}/attempts/{number}/diff");
    let other = if since_start {
        (base.clone(), format!("What attempt {number} changed"))
    } else {
        let other = format!("{base}?from=start");
        (other, "Against the start".to_owned())
    };
    let heading = if since_start {
        format!("After attempt {number}, against the start")
    } else {
        format!("What attempt {number} changed")
    };
    let raw = if since_start {
        format!("{base}?from=start&as=patch")
    } else {
        format!("{base}?as=patch")
    };
    let all = (format!("/tasks/{id}/diff"), "All that changed".to_owned());
    let shown = Shown {
        heading,
        other: vec![other, all],
        raw,
    };
    Ok(show_diff(&inside, &task, shown, &diff))
}

/// All that a task changed.
pub(super) async fn whole(face: &Face, inside: &Inside, task: &Task) -> Result<Diff, Response> {
    let run = match &task.story {
        // It is kept with the plan itself, which has no run of its own.
        Story::Parts { .. } => {
            let none = |_| Trouble::NotFound("that is no task's name".to_owned());
            let id = task.row.id.parse().map_err(none);
            id.map_err(on_page(inside))?
        }
        _ => run_of(inside, task)?.run_id,
    };
    let diff = face.reading.diff(task, run, Between::Whole).await;
    diff.map_err(on_page(inside))
}

/// `GET /tasks/{id}/diff`.
pub(super) async fn whole_diff(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
) -> Page {
    let task = find(&face, &inside, &id).await?;
    let diff = whole(&face, &inside, &task).await?;
    let other = if let Story::Parts { parts, .. } = &task.story {
        let begun = parts.iter();
        let begun = begun.filter_map(|part| Some((part.task.as_ref()?, line(&part.id, 40))));
        begun
            .map(|(task, id)| (format!("/tasks/{task}"), id))
            .collect()
    } else {
        let attempts = run_of(&inside, &task)?.attempts.iter();
        let each = attempts.map(|attempt| {
            let number = attempt.run_number;
            let address = format!("/tasks/{id}/attempts/{number}/diff");
            (address, format!("Attempt {number}"))
        });
        each.collect()
    };
    let shown = Shown {
        heading: "All that changed".to_owned(),
        other,
        raw: format!("/tasks/{id}/download/patch"),
    };
    Ok(show_diff(&inside, &task, shown, &diff))
}

/// Which diff is shown, and where the others are.
struct Shown {
    heading: String,
    other: Vec<(String, String)>,
    raw: String,
}

fn show_diff(inside: &Inside, task: &Task, shown: Shown, diff: &Diff) -> Response {
    let id = &task.row.id;
    let back = (format!("/tasks/{id}"), line(&task.row.description, 80));
    let frame = frame(inside, &shown.heading, Here::Tasks);
    let shown = DiffPage::new(frame, shown.heading, back, shown.other, shown.raw, diff);
    page(StatusCode::OK, &shown)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Days {
    days: String,
}

/// `GET /stats`.
pub(super) async fn stats(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    asked: Asked<Days>,
) -> Page {
    let days = said(asked).days.parse().ok().filter(|days| *days <= 36_500);
    let facts = face.reading.facts(&inside.visitor).await;
    let facts = facts.map_err(on_page(&inside))?;
    let since = Since::days(days, Timestamp::now());
    let figures = Figures::of(&facts, since, &TimeZone::system());
    let frame = frame(&inside, "What the loop buys", Here::Stats);
    let shown = StatsPage::new(frame, &figures, days);
    Ok(page(StatusCode::OK, &shown))
}

/// `GET /fleet`.
pub(super) async fn fleet(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
) -> Page {
    let fleet = face.reading.fleet(&inside.visitor).await;
    let Some(fleet) = fleet.map_err(on_page(&inside))? else {
        let error = Trouble::NotFound("there is one machine, and you sit at it".to_owned());
        return Err(on_page(&inside)(error));
    };
    let frame = living(&face, &inside, "Fleet", Here::Fleet, None).await?;
    let shown = FleetPage::new(frame, &fleet, Timestamp::now());
    Ok(page(StatusCode::OK, &shown))
}
