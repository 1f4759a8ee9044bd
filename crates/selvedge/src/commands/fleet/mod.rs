//! Commands that talk to a hub. A task's journal is replayed like a local run's, so that the same code prints both.

mod audit;
mod decide;
mod follow;
mod plan;
mod projects;
mod queries;
mod schedules;
mod submit;
mod tokens;
mod webhooks;

use std::path::Path;
use std::time::Duration;

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, RunId, TaskId, exit_code};
use selvedge_dashboard::stats::StatsReport;
use selvedge_protocol::{JournalPage, TaskPage, TaskRow};
use serde::Serialize;

use super::environment;
use crate::cli::{
    AuditArgs, CancelArgs, ListArgs, ProjectsArgs, RetryArgs, ReviewArgs, RunArgs, SchedulesArgs,
    ShowArgs, StatsArgs, SubmitArgs, TokensArgs, WatchArgs, WebhooksArgs, WorkerArgs, WorkersArgs,
};
use crate::error::CliError;
use crate::hub_client::{HubArgs, HubClient, HubCredentials, HubError};
use crate::local::StateDir;
use crate::logging;
use crate::output::{OutputFormat, OutputOptions, json, print_notice};
use crate::worker::{self, WorkerLifetime, WorkerOptions};

/// Limit for the pages that are searched for a short task id.
const MAX_PAGES: usize = 20;
const TASKS_PER_PAGE: usize = 100;
const EVENTS_PER_PAGE: usize = 500;

pub(super) fn worker(args: WorkerArgs) -> Result<u8, CliError> {
    // First, so that errors are in the log's format.
    logging::start(args.log_format)?;
    args.hub.validate_url()?;
    if let Some(listing) = args.config.requested_listing() {
        out!("{listing}");
        return Ok(exit_code::VERIFIED);
    }
    let environment = environment();
    let credentials = args.hub.require_credentials(&environment)?;
    let workdir = match args.workdir {
        Some(workdir) => workdir,
        None => StateDir::from_environment(&environment)?
            .root()
            .join("worker"),
    };
    let (mut allowed, mut folders) = (Vec::new(), Vec::new());
    for path in &args.allow {
        let canonical = super::canonical_directory(Some(path))?;
        // A task may name it either way.
        folders.extend(std::path::absolute(path));
        folders.push(canonical.clone());
        allowed.push(canonical);
    }
    worker::run(WorkerOptions {
        credentials,
        name: args.name,
        labels: args.labels,
        slots: if args.once { 1 } else { args.slots },
        workdir,
        allowed_paths: allowed,
        folders,
        environment,
        lifetime: WorkerLifetime {
            once: args.once,
            ignore_outcome: args.ignore_outcome,
            idle_timeout: args.idle_timeout.map(Duration::from_secs),
        },
    })
}

pub(super) fn submit(args: &SubmitArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| submit::submit(&hub, args).await,
    )
}

/// Runs `selvedge run --hub`: submits a task and follows it.
pub(super) fn run(args: &RunArgs, credentials: &HubCredentials) -> Result<u8, CliError> {
    with_hub(credentials, async |hub| submit::run(&hub, args).await)
}

pub(super) fn watch(args: &WatchArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| {
            let task = find_task(&hub, &args.task).await?;
            follow::watch_task(&hub, task, &OutputOptions::from(args.format)).await
        },
    )
}

pub(super) fn cancel(args: &CancelArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| decide::cancel(&hub, args).await,
    )
}

pub(super) fn retry(args: &RetryArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| decide::retry(&hub, args).await,
    )
}

pub(super) fn workers(args: &WorkersArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| queries::workers(&hub, args).await,
    )
}

pub(super) fn schedules(args: &SchedulesArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| schedules::schedules(&hub, args).await,
    )
}

pub(super) fn webhooks(args: &WebhooksArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| webhooks::webhooks(&hub, args).await,
    )
}

pub(super) fn projects(args: &ProjectsArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| projects::projects(&hub, args).await,
    )
}

pub(super) fn tokens(args: &TokensArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| tokens::tokens(&hub, args).await,
    )
}

pub(super) fn audit(args: &AuditArgs) -> Result<u8, CliError> {
    with_hub(
        &args.hub.require_credentials(&environment())?,
        async |hub| audit::audit(&hub, args).await,
    )
}

pub(super) fn list(args: &ListArgs, credentials: &HubCredentials) -> Result<u8, CliError> {
    with_hub(credentials, async |hub| queries::list(&hub, args).await)
}

/// The retry statistics of a hub.
pub(super) fn figures(
    args: &StatsArgs,
    credentials: &HubCredentials,
) -> Result<StatsReport, CliError> {
    reject_dir(args.dir.as_deref())?;
    with_hub(credentials, async |hub| {
        queries::figures(&hub, args.days).await
    })
}

pub(super) fn show(args: &ShowArgs, credentials: &HubCredentials) -> Result<u8, CliError> {
    with_hub(credentials, async |hub| queries::show(&hub, args).await)
}

pub(super) fn review(args: &ReviewArgs, credentials: &HubCredentials) -> Result<u8, CliError> {
    with_hub(credentials, async |hub| decide::review(&hub, args).await)
}

/// The hub to use; `None` for commands that use local runs if no hub is given.
pub(super) fn hub_credentials(args: &HubArgs) -> Result<Option<HubCredentials>, CliError> {
    args.credentials(&environment())
}

fn with_hub<T, F>(credentials: &HubCredentials, command: F) -> Result<T, CliError>
where
    F: AsyncFnOnce(HubClient) -> Result<T, CliError>,
{
    let hub = HubClient::new(credentials)?;
    if hub.is_unencrypted() {
        print_notice("the token is sent unencrypted; use https");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    runtime.block_on(command(hub))
}

/// Resolves a task by its id, by four or more digits from either end of it, or by `last`.
async fn find_task(hub: &HubClient, name: &str) -> Result<TaskId, CliError> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let newest = matches!(name, "last" | "@");
    let fragment = name.replace('-', "").to_ascii_lowercase();
    let is_part = fragment.len() >= 4 && fragment.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !newest && !is_part {
        return Err(CliError::usage(format!("invalid task id `{name}`"))
            .hint("use a task id, at least four digits from either end of it, or `last`"));
    }
    let mut task_ids = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = fetch_task_page(hub, &[], TASKS_PER_PAGE, cursor).await?;
        if newest {
            let first = page.tasks.first().map(|row| row.task_id);
            return first.ok_or_else(|| {
                CliError::usage("no tasks yet").hint("submit one with `selvedge submit`")
            });
        }
        let ids = page.tasks.iter().map(|row| row.task_id);
        task_ids.extend(ids.filter(|id| {
            let digits = id.to_string().replace('-', "");
            digits.starts_with(&fragment) || digits.ends_with(&fragment)
        }));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    match task_ids.as_slice() {
        [one] => Ok(*one),
        [] => Err(CliError::usage(format!("task `{name}` not found"))
            .hint("list tasks with `selvedge list`; `last` is the newest")),
        several => {
            let ids: Vec<String> = several.iter().take(5).map(TaskId::short).collect();
            Err(CliError::usage(format!("`{name}` is ambiguous"))
                .hint(format!("matching tasks: {}", ids.join(", "))))
        }
    }
}

async fn fetch_task_page(
    hub: &HubClient,
    filter: &[(&str, String)],
    limit: usize,
    cursor: Option<String>,
) -> Result<TaskPage, HubError> {
    let mut query = filter.to_vec();
    query.push(("limit", limit.to_string()));
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    hub.get("/tasks", &query).await
}

/// Replays a task's journal; calls `each` with every event.
async fn fold_journal(
    hub: &HubClient,
    task: TaskId,
    mut each: impl FnMut(&serde_json::Value),
) -> Result<JournalState, HubError> {
    let (mut state, mut after) = (JournalState::default(), 0);
    loop {
        let query = [
            ("after", after.to_string()),
            ("limit", EVENTS_PER_PAGE.to_string()),
        ];
        let page: JournalPage = hub.get(&format!("/tasks/{task}/journal"), &query).await?;
        for event in &page.events {
            each(event);
            if let Ok(envelope) = serde_json::from_value::<Envelope>(event.clone()) {
                state = evolve(state, &envelope);
            }
        }
        match page.next {
            Some(next) if next > after => after = next,
            _ => return Ok(state),
        }
    }
}

async fn fetch_task(hub: &HubClient, task: TaskId) -> Result<TaskRow, HubError> {
    hub.get(&format!("/tasks/{task}"), &[]).await
}

fn short_id(task: TaskId) -> String {
    RunId::from(task).short()
}

/// Checks an id that becomes a part of a URL.
fn check_id(kind: &str, id: &str, list_command: &str) -> Result<(), CliError> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !id.is_empty() && id.bytes().all(is_valid) {
        return Ok(());
    }
    Err(CliError::usage(format!("invalid {kind} id `{id}`"))
        .hint(format!("list them with `{list_command}`")))
}

/// Prints rows; for people, each as one line.
fn print_rows<T: Serialize>(rows: &[T], format: OutputFormat, line: fn(&T) -> String) {
    match format {
        OutputFormat::Json => json::print_json(&rows),
        OutputFormat::Jsonl => rows.iter().for_each(json::print_json),
        OutputFormat::Human => rows.iter().for_each(|row| outln!("{}", line(row))),
    }
}

fn reject_dir(dir: Option<&Path>) -> Result<(), CliError> {
    match dir {
        None => Ok(()),
        Some(_) => Err(CliError::usage(
            "--dir and --hub cannot be combined: --dir selects local runs, --hub those of a hub",
        )),
    }
}
