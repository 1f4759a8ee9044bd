//! The commands that speak to a hub. What a local run would print is printed for a hub's task by the same
//! code: a task's journal is folded as a run's is.

mod decide;
mod follow;
mod look;
mod plan;
mod submit;
mod tokens;

use std::path::Path;

use selvedge_core::fleet::{JournalPage, TaskPage, TaskRow};
use selvedge_core::machine::{State, evolve};
use selvedge_core::model::{Envelope, RunId, TaskId};
use selvedge_face::stats::Figures;

use super::environment;
use crate::cli::{
    CancelArgs, ListArgs, RetryArgs, ReviewArgs, RunArgs, ShowArgs, StatsArgs, SubmitArgs,
    TokensArgs, WatchArgs, WorkerArgs, WorkersArgs,
};
use crate::error::CliError;
use crate::fleet::{Account, Hub, HubArgs, HubError};
use crate::local::Home;
use crate::output::Output;
use crate::worker::{self, Work};

/// Pages of tasks that are looked through for a short name.
const PAGES: usize = 20;
const PAGE: usize = 100;
/// Events of a journal at a time.
const EVENTS: usize = 500;

pub(super) fn worker(args: WorkerArgs) -> Result<u8, CliError> {
    let environment = environment();
    let account = args.hub.needed(&environment)?;
    let workdir = match args.workdir {
        Some(workdir) => workdir,
        None => Home::find(&environment)?.root().join("worker"),
    };
    let mut allowed = Vec::new();
    for path in &args.allow {
        allowed.push(super::directory(Some(path))?);
    }
    worker::run(Work {
        account,
        name: args.name,
        labels: args.labels,
        slots: args.slots,
        workdir,
        allowed,
        environment,
    })
}

pub(super) fn submit(args: &SubmitArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        submit::submit(&hub, args).await
    })
}

/// `selvedge run --hub`: submits, and watches.
pub(super) fn run(args: &RunArgs, account: &Account) -> Result<u8, CliError> {
    on_hub(account, async |hub| submit::run(&hub, args).await)
}

pub(super) fn watch(args: &WatchArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        let task = named(&hub, &args.task).await?;
        follow::follow(&hub, task, &Output::from(args.format)).await
    })
}

pub(super) fn cancel(args: &CancelArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        decide::cancel(&hub, args).await
    })
}

pub(super) fn retry(args: &RetryArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        decide::retry(&hub, args).await
    })
}

pub(super) fn workers(args: &WorkersArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        look::workers(&hub, args).await
    })
}

pub(super) fn tokens(args: &TokensArgs) -> Result<u8, CliError> {
    on_hub(&args.hub.needed(&environment())?, async |hub| {
        tokens::tokens(&hub, args).await
    })
}

pub(super) fn list(args: &ListArgs, account: &Account) -> Result<u8, CliError> {
    on_hub(account, async |hub| look::list(&hub, args).await)
}

/// What the loop bought on a hub.
pub(super) fn figures(args: &StatsArgs, account: &Account) -> Result<Figures, CliError> {
    is_elsewhere(args.dir.as_deref())?;
    on_hub(account, async |hub| look::figures(&hub, args.days).await)
}

pub(super) fn show(args: &ShowArgs, account: &Account) -> Result<u8, CliError> {
    on_hub(account, async |hub| look::show(&hub, args).await)
}

pub(super) fn review(args: &ReviewArgs, account: &Account) -> Result<u8, CliError> {
    on_hub(account, async |hub| decide::review(&hub, args).await)
}

/// The hub that is meant, where a command means this machine's runs without one.
pub(super) fn account(args: &HubArgs) -> Result<Option<Account>, CliError> {
    args.account(&environment())
}

fn on_hub<T, F>(account: &Account, play: F) -> Result<T, CliError>
where
    F: AsyncFnOnce(Hub) -> Result<T, CliError>,
{
    let hub = Hub::new(account)?;
    if hub.is_in_clear() {
        super::notice("the token crosses the network in clear: use https");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    runtime.block_on(play(hub))
}

/// The task that a person means by a name: its id, four digits or more from either end, or `last`.
async fn named(hub: &Hub, name: &str) -> Result<TaskId, CliError> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let newest = matches!(name, "last" | "@");
    let wanted = name.replace('-', "").to_ascii_lowercase();
    let is_part = wanted.len() >= 4 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !newest && !is_part {
        return Err(CliError::usage(format!("`{name}` names no task"))
            .hint("give its id, or four digits or more from either end of it, or `last`"));
    }
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let page = page(hub, &[], PAGE, cursor).await?;
        if newest {
            let first = page.tasks.first().map(|row| row.task_id);
            return first.ok_or_else(|| {
                CliError::usage("there are no tasks yet").hint("`selvedge submit` hands one in")
            });
        }
        let ids = page.tasks.iter().map(|row| row.task_id);
        found.extend(ids.filter(|id| {
            let digits = id.to_string().replace('-', "");
            digits.starts_with(&wanted) || digits.ends_with(&wanted)
        }));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(CliError::usage(format!("there is no task `{name}`"))
            .hint("`selvedge list` shows the newest; `last` names the newest of them")),
        several => {
            let ids: Vec<String> = several.iter().take(5).map(TaskId::short).collect();
            Err(CliError::usage(format!("`{name}` names several tasks"))
                .hint(format!("say more of one of them: {}", ids.join(", "))))
        }
    }
}

async fn page(
    hub: &Hub,
    filter: &[(&str, String)],
    limit: usize,
    cursor: Option<String>,
) -> Result<TaskPage, HubError> {
    let mut query = filter.to_vec();
    query.push(("limit", limit.to_string()));
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    hub.get("/tasks", &query).await
}

/// A task's journal folded; each event is shown as it comes.
async fn journal(
    hub: &Hub,
    task: TaskId,
    mut each: impl FnMut(&serde_json::Value),
) -> Result<State, HubError> {
    let (mut state, mut after) = (State::default(), 0);
    loop {
        let query = [("after", after.to_string()), ("limit", EVENTS.to_string())];
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

async fn row(hub: &Hub, task: TaskId) -> Result<TaskRow, HubError> {
    hub.get(&format!("/tasks/{task}"), &[]).await
}

fn short(task: TaskId) -> String {
    RunId::from(task).short()
}

fn is_elsewhere(dir: Option<&Path>) -> Result<(), CliError> {
    match dir {
        None => Ok(()),
        Some(_) => Err(CliError::usage(
            "--dir means a folder of this machine, --hub another's runs",
        )),
    }
}
