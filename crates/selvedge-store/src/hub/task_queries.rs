//! What people look at on a hub as a whole: a page of its tasks in any order, how many stand how, and the
//! small facts of runs that statistics are made of.

use selvedge_core::model::{Outcome, TaskId};
use selvedge_core::protocol::TaskState;

/// In which order tasks are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSortOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// Those first where something happened lately.
    RecentlyUpdated,
    /// The dearest first, by what is known of their cost.
    MostExpensive,
    /// Those with the most tokens first, in and out.
    MostTokens,
    /// Those with the most attempts first.
    MostAttempts,
}

/// How a task stands: its state, and its outcome where it has one.
pub type StateAndOutcome = (TaskState, Option<Outcome>);

/// Which tasks people look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Whose tasks.
    pub tenant: String,
    /// The agent that they name; `default` for none.
    pub agent: Option<String>,
    /// With this in the title, the place or the id, whatever the case.
    pub text: Option<String>,
}

/// A page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPageRequest {
    /// Those of one of these kinds; all when absent.
    pub statuses: Option<Vec<StateAndOutcome>>,
    /// In which order.
    pub order: TaskSortOrder,
    /// After so many.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

/// How many tasks stand how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Those that a filter lets through, by kind.
    pub statuses: Vec<(StateAndOutcome, u64)>,
    /// The agents of all the tenant's tasks, sorted.
    pub agents: Vec<String>,
    /// All the tenant's tasks.
    pub all: u64,
}

/// What is kept of a run for statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatsRow {
    /// Whose run.
    pub task_id: TaskId,
    /// The last event of its journal.
    pub event_seq: u64,
    /// What is kept, and the last event that it was made from: a later one makes it stale.
    pub saved: Option<(u64, String)>,
}

/// Facts to be kept: of this task, made from its journal up to this event.
pub type NewRunStats = (TaskId, u64, String);

/// What a task without an agent's name is listed under.
pub(crate) const NO_AGENT: &str = "default";
