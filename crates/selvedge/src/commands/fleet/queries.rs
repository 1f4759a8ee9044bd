//! Queries of a hub's tasks, workers and statistics.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use selvedge_core::format::counted;
use selvedge_core::model::{Outcome, TaskId, exit_code};
use selvedge_core::run::Run;
use selvedge_core::sanitize::sanitize_text;
use selvedge_dashboard::stats::StatsReport;
use selvedge_protocol::{TaskRow, TaskState, WorkerPage, WorkerRow, attempt_patch, whole_patches};
use serde_json::{Value, json};

use super::{fetch_task, fetch_task_page, find_task, fold_journal, plan, reject_dir, short_id};
use crate::cli::{ListArgs, ShowArgs, WorkersArgs};
use crate::commands::{list::print_more_exist, show};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::run_details::{self, DetailOptions};
use crate::output::run_table::{RunRow, format_table};
use crate::output::{OutputFormat, json as print, print_notice};
use crate::terminal::{one_line, output_width, style};

const TASKS_PER_PAGE: usize = 100;

pub(super) async fn list(hub: &HubClient, args: &ListArgs) -> Result<u8, CliError> {
    reject_dir(args.dir.as_deref())?;
    let (mut rows, mut cursor) = (Vec::new(), None);
    while rows.len() < args.limit {
        let page_size = TASKS_PER_PAGE.min(args.limit - rows.len()).max(1);
        let page = fetch_task_page(hub, &[], page_size, cursor).await?;
        let open = |row: &TaskRow| !args.open || !row.state.is_terminal();
        rows.extend(page.tasks.into_iter().filter(open));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let has_more = cursor.is_some() || rows.len() > args.limit;
    rows.truncate(args.limit);
    match args.format {
        OutputFormat::Json => print::print_json(&rows.iter().map(list_row).collect::<Vec<_>>()),
        OutputFormat::Jsonl => rows
            .iter()
            .for_each(|row| print::print_json(&list_row(row))),
        OutputFormat::Human if rows.is_empty() => errln!("no tasks"),
        OutputFormat::Human => {
            out!("{}", format_tasks(&rows));
            print_reached_limits(&rows);
            if has_more {
                print_more_exist("tasks");
            }
        }
    }
    Ok(exit_code::VERIFIED)
}

/// Prints for which limits of their project tasks wait.
fn print_reached_limits(rows: &[TaskRow]) {
    let mut reached = BTreeMap::<&str, u64>::new();
    for row in rows {
        if let Some(limit) = &row.waits {
            *reached.entry(limit).or_default() += 1;
        }
    }
    for (limit, tasks) in reached {
        let verb = if tasks == 1 { "waits" } else { "wait" };
        let tasks = counted(tasks, "task");
        print_notice(&format!("{tasks} {verb}: {}", sanitize_text(limit)));
    }
}

/// The hub's row, with the fields of a local `selvedge list` added.
fn list_row(row: &TaskRow) -> Value {
    let mut object = serde_json::to_value(row).unwrap_or_default();
    object["run_id"] = json!(row.task_id);
    object["last_seq"] = json!(row.last_event_seq);
    object["standing"] = json!(match row.state {
        TaskState::NeedsReview => "awaiting_review",
        state if state.is_terminal() => "finished",
        _ => "open",
    });
    object
}

fn format_tasks(rows: &[TaskRow]) -> String {
    let rows: Vec<RunRow> = rows.iter().map(task_row).collect();
    format_table(&rows, output_width())
}

fn task_row(row: &TaskRow) -> RunRow {
    let ended = row.outcome.filter(|_| row.state.is_terminal());
    let is_accepted = row.review.as_ref().is_some_and(|review| review.accepted);
    let state = match ended {
        // A person decided, not the checks.
        Some(Outcome::Verified) if is_accepted => "accepted",
        Some(outcome) => outcome.as_str(),
        None => row.state.as_str(),
    };
    RunRow {
        id: short_id(row.task_id),
        created_at: row.created_at,
        state: state.replace('_', " "),
        paint_state: match row.state {
            TaskState::Succeeded => style::good,
            state if state.is_terminal() => style::bad,
            _ => style::warning,
        },
        attempts: row.attempts,
        max_attempts: row.max_attempts,
        agent: row.agent.as_deref().unwrap_or("-").to_owned(),
        cost: row.cost,
        directory: row.workspace.clone().unwrap_or_default(),
        task: row.description.clone(),
    }
}

pub(super) async fn show(hub: &HubClient, args: &ShowArgs) -> Result<u8, CliError> {
    if args.run.is_none() && fetch_task_page(hub, &[], 1, None).await?.tasks.is_empty() {
        let message = "no tasks yet; submit one with `selvedge submit`";
        return Ok(show::show_nothing(args.format, message));
    }
    let task = find_task(hub, args.run.as_deref().unwrap_or("last")).await?;
    let state = fold_journal(hub, task, |event| {
        if args.format == OutputFormat::Jsonl {
            print::print_json(event);
        }
    });
    let state = state.await?;
    if args.format == OutputFormat::Jsonl {
        return Ok(exit_code::VERIFIED);
    }
    let row = fetch_task(hub, task).await?;
    if let Some(run) = &state.run {
        let is_waiting = matches!(
            row.state,
            TaskState::Queued | TaskState::Offered | TaskState::Backoff
        );
        if args.format == OutputFormat::Human && is_waiting {
            print_delay(&row);
        }
        return show_run(hub, args, task, run).await;
    }
    if !row.subtasks.is_empty() {
        match args.format {
            OutputFormat::Human => {
                let plan = plan::format_plan(&row);
                out!("{}{plan}", format_tasks(std::slice::from_ref(&row)));
            }
            OutputFormat::Json | OutputFormat::Jsonl => {
                print::print_json(&plan::fetch_plan_result(hub, &row).await?);
            }
        }
        return Ok(exit_code::VERIFIED);
    }
    match args.format {
        OutputFormat::Human => {
            out!("{}", format_tasks(std::slice::from_ref(&row)));
            print_delay(&row);
        }
        OutputFormat::Json | OutputFormat::Jsonl => print::print_json(&row),
    }
    Ok(exit_code::VERIFIED)
}

/// Prints why a task is not running, and until when.
fn print_delay(row: &TaskRow) {
    for note in row.reason.iter().chain(&row.unplaceable) {
        outln!("  {}", sanitize_text(note));
    }
    if let Some(reached) = &row.waits {
        outln!("  waits: {}", sanitize_text(reached));
    }
    if let Some(at) = row.resumes_at {
        let at = at.to_zoned(TimeZone::system());
        outln!("  queued again at {}", at.strftime("%Y-%m-%d %H:%M:%S"));
    }
}

async fn show_run(
    hub: &HubClient,
    args: &ShowArgs,
    task: TaskId,
    run: &Run,
) -> Result<u8, CliError> {
    let attempt = show::requested_attempt(args, run)?;
    let files = match attempt {
        Some(attempt) if args.check.is_some() || args.transcript => {
            vec![show::stored_output(attempt, args.check)?.file.clone()]
        }
        Some(attempt) if args.diff => vec![attempt_patch(attempt.attempt_number)],
        None if args.diff => whole_patches(run),
        _ => Vec::new(),
    };
    if !files.is_empty() {
        show::print_bytes(&fetch_first_file(hub, task, &files).await?);
        return Ok(exit_code::VERIFIED);
    }
    let detail = DetailOptions {
        attempt: args.attempt,
        prompt: args.prompt,
    };
    match args.format {
        OutputFormat::Human => out!("{}", run_details::format_run(run, detail)),
        OutputFormat::Json | OutputFormat::Jsonl => {
            print::print_json(&run_details::run_json(run, detail));
        }
    }
    Ok(exit_code::VERIFIED)
}

/// Downloads the first of these files that exists.
async fn fetch_first_file(
    hub: &HubClient,
    task: TaskId,
    names: &[String],
) -> Result<Vec<u8>, CliError> {
    let path = format!("/tasks/{task}/files/content");
    for name in names {
        match hub.get_bytes(&path, &[("name", name.clone())]).await {
            Ok(bytes) => return Ok(bytes),
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let names = names.join("` or `");
    Err(CliError::usage(format!(
        "the hub has no file `{names}` of this task"
    )))
}

pub(super) async fn workers(hub: &HubClient, args: &WorkersArgs) -> Result<u8, CliError> {
    let page: WorkerPage = hub.get("/workers", &[]).await?;
    match args.format {
        OutputFormat::Json => print::print_json(&page.workers),
        OutputFormat::Jsonl => page.workers.iter().for_each(print::print_json),
        OutputFormat::Human if page.workers.is_empty() => errln!("no workers"),
        OutputFormat::Human => page
            .workers
            .iter()
            .for_each(|worker| outln!("{}", worker_line(worker))),
    }
    Ok(exit_code::VERIFIED)
}

fn worker_line(worker: &WorkerRow) -> String {
    let status = match (worker.connected, worker.draining) {
        _ if worker.quarantine.is_some() => style::bad(format!("{:10}", "quarantined")),
        (true, false) => style::good(format!("{:10}", "connected")),
        (true, true) => style::warning(format!("{:10}", "draining")),
        (false, _) => style::bad(format!("{:10}", "offline")),
    };
    let seen = worker
        .last_seen_at
        .to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S");
    let agents = match &worker.capabilities {
        Some(own) => one_line(&own.agents.join(","), 60),
        None => "any".to_owned(),
    };
    let quarantine = worker.quarantine.as_ref().map(|quarantine| {
        let until = quarantine.until.to_zoned(TimeZone::system());
        format!(
            "\n  quarantined until {}: {}",
            until.strftime("%Y-%m-%d %H:%M:%S"),
            one_line(&quarantine.reason, 200)
        )
    });
    format!(
        "{}  {status}  {}/{} slots used  {:<20}  agents: {agents}  sandbox: {}  last seen {seen}{}",
        style::strong(format!("{:<24}", one_line(&worker.worker, 40))),
        worker.tasks.len(),
        worker.slots,
        one_line(&worker.labels.join(","), 40),
        one_line(worker.sandbox.as_deref().unwrap_or("not reported"), 60),
        quarantine.unwrap_or_default(),
    )
}

/// The statistics of a hub's tasks, with days in the local time zone.
pub(super) async fn figures(hub: &HubClient, days: Option<u32>) -> Result<StatsReport, CliError> {
    let mut query = Vec::new();
    query.extend(days.map(|days| ("days", days.to_string())));
    if let Some(zone) = TimeZone::system().iana_name() {
        query.push(("zone", zone.to_owned()));
    }
    Ok(hub.get("/figures", &query).await?)
}
