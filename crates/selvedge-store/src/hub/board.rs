//! What people look at on a hub as a whole: a page of its tasks in any order, how many stand how, and the
//! small facts of runs that statistics are made of. A database that has nothing better answers from its
//! lists: rightly, and slowly.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use selvedge_core::fleet::TaskState;
use selvedge_core::model::{Outcome, TaskId};

use super::error::HubStoreError;
use super::rows::{ListFilter, TaskView};
use super::traits::Queue;

/// In which order tasks are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// Those first where something happened lately.
    Lately,
    /// The dearest first, by what is known of their cost.
    Dearest,
    /// Those with the most tokens first, in and out.
    Tokens,
    /// Those with the most attempts first.
    Attempts,
}

/// How a task stands: its state, and its outcome where it has one.
pub type Kind = (TaskState, Option<Outcome>);

/// Which tasks people look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardFilter {
    /// Whose tasks.
    pub tenant: String,
    /// The agent that they name; `default` for none.
    pub agent: Option<String>,
    /// With this in the title, the place or the id, whatever the case.
    pub text: Option<String>,
}

/// A page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardPage {
    /// Those of one of these kinds; all when absent.
    pub kinds: Option<Vec<Kind>>,
    /// In which order.
    pub order: ListOrder,
    /// After so many.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

/// How many tasks stand how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    /// Those that a filter lets through, by kind.
    pub kinds: Vec<(Kind, u64)>,
    /// The agents of all the tenant's tasks, sorted.
    pub agents: Vec<String>,
    /// All the tenant's tasks.
    pub all: u64,
}

/// What is kept of a run for statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactLine {
    /// Whose run.
    pub task_id: TaskId,
    /// The last event of its journal.
    pub event_seq: u64,
    /// What is kept, and the last event that it was made from: a later one makes it stale.
    pub kept: Option<(u64, String)>,
}

/// Facts to be kept: of this task, made from its journal up to this event.
pub type NewFacts = (TaskId, u64, String);

/// What a task without an agent's name is listed under.
pub(crate) const NO_AGENT: &str = "default";

const ROWS: usize = 1_000;

/// All tasks of a tenant.
pub(crate) async fn all<Q: Queue + ?Sized>(
    queue: &Q,
    tenant: &str,
) -> Result<Vec<TaskView>, HubStoreError> {
    let mut all: Vec<TaskView> = Vec::new();
    loop {
        let filter = ListFilter {
            tenant: Some(tenant.to_owned()),
            before: all.last().map(|view| view.row.task_id),
            ..ListFilter::default()
        };
        let page = queue.tasks(filter, ROWS).await?;
        all.extend(page.tasks);
        if !page.more {
            return Ok(all);
        }
    }
}

fn agent(view: &TaskView) -> &str {
    view.agent.as_deref().unwrap_or(NO_AGENT)
}

fn kind(view: &TaskView) -> Kind {
    (view.row.lease.state, view.row.lease.outcome)
}

fn lets_through(filter: &BoardFilter, view: &TaskView) -> bool {
    let named = filter.agent.as_ref().is_none_or(|it| it == agent(view));
    let found = filter.text.as_ref().is_none_or(|text| {
        let text = text.to_ascii_lowercase();
        let place = view.place.as_deref().unwrap_or_default();
        [&view.title, place, &view.row.task_id.to_string()]
            .iter()
            .any(|it| it.to_ascii_lowercase().contains(&text))
    });
    named && found
}

/// Counts what a list of all shows.
pub(crate) fn census(all: &[TaskView], filter: &BoardFilter) -> Census {
    let mut kinds: BTreeMap<String, (Kind, u64)> = BTreeMap::new();
    for view in all.iter().filter(|view| lets_through(filter, view)) {
        let kind = kind(view);
        let (_, count) = kinds.entry(format!("{kind:?}")).or_insert((kind, 0));
        *count += 1;
    }
    let mut agents: Vec<String> = all.iter().map(|view| agent(view).to_owned()).collect();
    agents.sort_unstable();
    agents.dedup();
    Census {
        kinds: kinds.into_values().collect(),
        agents,
        all: all.len() as u64,
    }
}

/// Cuts a page out of a list of all.
pub(crate) fn page(all: Vec<TaskView>, filter: &BoardFilter, page: &BoardPage) -> Vec<TaskView> {
    let wanted = |view: &TaskView| {
        let kinds = page.kinds.as_ref();
        lets_through(filter, view) && kinds.is_none_or(|kinds| kinds.contains(&kind(view)))
    };
    let mut rows: Vec<TaskView> = all.into_iter().filter(wanted).collect();
    rows.sort_by_key(|view| Reverse(view.row.task_id));
    match page.order {
        ListOrder::Newest => {}
        ListOrder::Oldest => rows.reverse(),
        ListOrder::Lately => rows.sort_by_key(|view| Reverse(view.row.updated_at)),
        ListOrder::Dearest => rows.sort_by_key(|view| Reverse(view.cost.micro_usd)),
        ListOrder::Tokens => rows
            .sort_by_key(|view| Reverse(view.cost.tokens_in.saturating_add(view.cost.tokens_out))),
        ListOrder::Attempts => rows.sort_by_key(|view| Reverse(view.row.lease.last_run)),
    }
    let rows = rows.into_iter().skip(page.skip);
    rows.take(page.limit).collect()
}
