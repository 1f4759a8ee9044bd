//! Queries for user interfaces: a page of tasks in any order, counts by status, and the saved statistics of runs.

use std::collections::BTreeMap;

use selvedge_core::model::{FindingSeverity, Outcome, TaskId};
use selvedge_protocol::TaskState;
use serde::Serialize;

use super::error::HubStoreError;
use super::sqlite::columns::damaged;

/// Sort key of a page of tasks.
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
    /// State and outcome; of verified tasks, those that a person accepted come last.
    State,
    /// Title, regardless of the case of ASCII letters.
    Title,
    /// Requested agent; of tasks that request none, the one in the saved statistics of the run, or else `default`.
    Agent,
    /// Workspace or repository; tasks without one come first.
    Place,
}

/// A task's state, and its outcome if it has one.
pub type StateAndOutcome = (TaskState, Option<Outcome>);

/// A filter of the tasks that people see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The project that owns the tasks.
    pub project: String,
    /// The requested agent; of tasks that request none, `default` or the agent in the saved statistics of the run.
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
    /// Conditions on the saved statistics of the run.
    pub stats: Option<RunStatsFilter>,
    /// Submitted at this time or later: milliseconds since 1970.
    pub since: Option<i64>,
    /// Submitted before this time: milliseconds since 1970.
    pub until: Option<i64>,
}

impl TaskFilter {
    /// A text that occurs in the body of every task with the revision, and of no other task: no string contains
    /// unescaped quotes.
    pub(crate) fn revision_part(&self) -> Option<String> {
        let revision = serde_json::Value::from(self.revision.as_deref()?);
        Some(format!("\"revision\":{revision}"))
    }

    /// The conditions on the statistics, as JSON without NUL, which databases refuse.
    pub(crate) fn stats_json(&self) -> Result<Option<String>, HubStoreError> {
        let json = self.stats.as_ref().map(serde_json::to_string);
        let json = json.transpose().map_err(damaged)?;
        Ok(json.map(|json| json.replace("\\u0000", "\\ufffd")))
    }
}

/// Conditions that all have to hold for the saved statistics of a run, which are a JSON object. Tasks without saved
/// statistics do not match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunStatsFilter {
    /// Fields of the object with these values.
    pub fields: BTreeMap<String, serde_json::Value>,
    /// An entry of the object `checks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckCondition>,
    /// An element of the array `guard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<FindingCondition>,
}

/// A check of which a number is at least so high.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckCondition {
    /// Its key in `checks`.
    pub name: String,
    /// The field of the number; `true` counts as 1, `false` as 0.
    pub number: String,
    /// The minimum.
    pub at_least: u64,
}

/// A pair of a kind and a severity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingCondition {
    /// The kind.
    pub kind: String,
    /// One of these severities.
    pub severities: Vec<FindingSeverity>,
}

/// Precedes the text for the search, the last field of saved statistics.
pub(crate) const SEARCH_TEXT_FIELD: &str = "\"search_text\":\"";
/// Beginning of saved statistics of work that a person accepted.
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
    /// Sort key; the newest of equal tasks comes first.
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
    /// When it was submitted: milliseconds since 1970.
    pub created_at: i64,
    /// The last event of its journal.
    pub event_seq: u64,
    /// The saved statistics and the last event that they include; a later event makes them stale.
    pub saved: Option<(u64, String)>,
}

/// Statistics to save: task, last included event of its journal, and body.
pub type NewRunStats = (TaskId, u64, String);

/// The name under which tasks without an agent are listed.
pub(crate) const NO_AGENT: &str = "default";
