//! Queries for people: a page of tasks in any order, counts by status, and the saved statistics of runs.

use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::TaskState;

/// What a page of tasks is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSortOrder {
    /// When it was submitted.
    #[default]
    Created,
    /// When it last changed.
    Updated,
    /// The known part of its cost.
    Cost,
    /// Input and output tokens.
    Tokens,
    /// Attempts.
    Attempts,
    /// Time between its submission and its last change.
    Duration,
}

/// A task's state, and its outcome if it has one.
pub type StateAndOutcome = (TaskState, Option<Outcome>);

/// A filter of the tasks that people see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The project that owns the tasks.
    pub project: String,
    /// The requested agent; `default` for none.
    pub agent: Option<String>,
    /// Words in lower case that all occur in the title, the workspace, the id, the reason of the outcome or the text
    /// for the search in the statistics of the run.
    pub words: Vec<String>,
    /// The workspace or repository.
    pub place: Option<String>,
    /// The branch or other revision that the work begins from, as the task names it.
    pub revision: Option<String>,
    /// The worker that has the task, or had it last.
    pub worker: Option<String>,
    /// The name of the token that submitted it.
    pub submitted_by: Option<String>,
    /// A label that it requires.
    pub label: Option<String>,
    /// Parts of the saved statistics of the run, as JSON without spaces, that all have to occur: `"model":"opus"`.
    pub stats_parts: Vec<String>,
    /// Submitted at this time or later: milliseconds since 1970.
    pub since: Option<i64>,
    /// Submitted before this time: milliseconds since 1970.
    pub until: Option<i64>,
}

impl TaskFilter {
    /// A part of the body of every task with the revision, and of no other one: no string contains unescaped quotes.
    pub(crate) fn revision_part(&self) -> Option<String> {
        let revision = serde_json::Value::from(self.revision.as_deref()?);
        Some(format!("\"revision\":{revision}"))
    }
}

/// The text for the search comes last in saved statistics, after this.
pub(crate) const SEARCH_TEXT_FIELD: &str = "\"search_text\":\"";
/// Saved statistics of work that a person accepted begin with this.
pub(crate) const ACCEPTED_PREFIX: &str = "{\"accepted\":true";
/// Maximum number of workspaces and repositories that are listed.
pub(crate) const MAX_PLACES: u32 = 200;

/// A page of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPageRequest {
    /// Tasks with one of these statuses; all if absent.
    pub statuses: Option<Vec<StateAndOutcome>>,
    /// Of verified tasks, only those that a person accepted, or only the others.
    pub accepted: Option<bool>,
    /// What it is sorted by; of equal tasks, the newest first.
    pub order: TaskSortOrder,
    /// Whether the order is ascending.
    pub ascending: bool,
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
    /// The number of filtered tasks that are verified because a person accepted the work.
    pub accepted: u64,
    /// The agents of all the project's tasks, sorted.
    pub agents: Vec<String>,
    /// The workspaces and repositories of the project's tasks, sorted: the first of them.
    pub places: Vec<String>,
    /// The number of all the project's tasks.
    pub all: u64,
}

/// The saved statistics of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatsRow {
    /// The task's id.
    pub task_id: TaskId,
    /// Its repository or workspace.
    pub place: Option<String>,
    /// The worker that has the task, or had it last.
    pub worker: Option<String>,
    /// The last event of its journal.
    pub event_seq: u64,
    /// The saved statistics and the last event that they include; a later event makes them stale.
    pub saved: Option<(u64, String)>,
}

/// Statistics to save: task, last included event of its journal, and body.
pub type NewRunStats = (TaskId, u64, String);

/// The name under which tasks without an agent are listed.
pub(crate) const NO_AGENT: &str = "default";
