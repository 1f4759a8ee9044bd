//! Queries for people: a page of tasks in any order, counts by status, and the saved statistics of runs.

use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::TaskState;

/// The order of a page of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSortOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
    /// Most recently changed first.
    RecentlyUpdated,
    /// Most expensive first, by the known part of the cost.
    MostExpensive,
    /// Most input and output tokens first.
    MostTokens,
    /// Most attempts first.
    MostAttempts,
}

/// A task's state, and its outcome if it has one.
pub type StateAndOutcome = (TaskState, Option<Outcome>);

/// A filter of the tasks that people see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The tenant that owns the tasks.
    pub tenant: String,
    /// The requested agent; `default` for none.
    pub agent: Option<String>,
    /// Text in the title, the workspace or the id, in any case.
    pub text: Option<String>,
}

/// A page of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPageRequest {
    /// Tasks with one of these statuses; all if absent.
    pub statuses: Option<Vec<StateAndOutcome>>,
    /// The order.
    pub order: TaskSortOrder,
    /// Number of tasks to skip.
    pub skip: usize,
    /// Maximum number of tasks.
    pub limit: usize,
}

impl TaskPageRequest {
    /// The requested statuses, each as one word, as in the queries.
    pub(crate) fn status_words(&self) -> Option<Vec<String>> {
        let word = |&(state, outcome): &StateAndOutcome| {
            let outcome = outcome.map_or("", |outcome| outcome.as_str());
            format!("{}/{outcome}", state.as_str())
        };
        Some(self.statuses.as_ref()?.iter().map(word).collect())
    }
}

/// Numbers of tasks by status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Filtered tasks by status.
    pub statuses: Vec<(StateAndOutcome, u64)>,
    /// The agents of all the tenant's tasks, sorted.
    pub agents: Vec<String>,
    /// The number of all the tenant's tasks.
    pub all: u64,
}

/// The saved statistics of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatsRow {
    /// The task's id.
    pub task_id: TaskId,
    /// The last event of its journal.
    pub event_seq: u64,
    /// The saved statistics and the last event that they include; a later event makes them stale.
    pub saved: Option<(u64, String)>,
}

/// Statistics to save: task, last included event of its journal, and body.
pub type NewRunStats = (TaskId, u64, String);

/// The name under which tasks without an agent are listed.
pub(crate) const NO_AGENT: &str = "default";
