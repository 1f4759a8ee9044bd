//! A task as a row of the list, and with the details of its own page.

use std::collections::BTreeMap;

use selvedge_core::model::{
    Cost, Outcome, OutputRef, ParentPlan, PlanResult, ReviewTarget, RunId, Timestamp,
};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_protocol::ProgressEvent;

use super::query::{TaskQuery, TaskQueryOrder};
use super::stats_filter::StatsFilter;
use crate::stats::RunStats;

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayStatus {
    /// Waiting for a worker.
    Queued,
    /// Running.
    Running,
    /// Started, but no process is working on it.
    Interrupted,
    /// Suspended in an orderly way.
    Suspended,
    /// Waiting for a retry.
    Backoff,
    /// Being cancelled.
    Cancelling,
    /// Waiting for a person's review.
    NeedsReview,
    /// Ended as verified, because a person accepted the work.
    Accepted,
    /// Ended with this outcome.
    Finished(Outcome),
}

impl DisplayStatus {
    /// The label for people.
    pub fn word(self) -> String {
        match self {
            Self::Queued => "queued".to_owned(),
            Self::Running => "running".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Suspended => "suspended".to_owned(),
            Self::Backoff => "waiting to retry".to_owned(),
            Self::Cancelling => "cancelling".to_owned(),
            Self::NeedsReview => "needs review".to_owned(),
            Self::Accepted => "accepted".to_owned(),
            Self::Finished(outcome) => match outcome {
                Outcome::MaxRetriesExhausted => "checks still fail".to_owned(),
                Outcome::Failed => "agent failed".to_owned(),
                Outcome::InfraFailed => "infrastructure failure".to_owned(),
                Outcome::Timeout => "time limit".to_owned(),
                outcome => outcome.as_str().replace('_', " "),
            },
        }
    }

    /// The group that filters and colours use.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Queued | Self::Backoff => "waiting",
            Self::Running | Self::Cancelling => "running",
            Self::Interrupted | Self::Suspended => "stopped",
            Self::NeedsReview => "review",
            Self::Accepted => "accepted",
            Self::Finished(outcome) => match outcome {
                Outcome::Verified => "verified",
                Outcome::Unchecked => "unchecked",
                Outcome::NeedsReview => "review",
                Outcome::MaxRetriesExhausted | Outcome::Stuck | Outcome::Tampered => "partial",
                Outcome::Interrupted => "stopped",
                Outcome::Failed
                | Outcome::CannotSatisfy
                | Outcome::Unchanged
                | Outcome::Timeout
                | Outcome::TurnLimit
                | Outcome::Budget
                | Outcome::InfraFailed
                | Outcome::Cancelled => "failed",
            },
        }
    }

    /// The name of the icon.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Queued | Self::Backoff => "clock",
            Self::Running | Self::Cancelling => "live",
            Self::Interrupted | Self::Suspended => "calm",
            Self::NeedsReview => "warn",
            Self::Accepted => "person",
            Self::Finished(outcome) => match outcome {
                Outcome::Verified => "good",
                Outcome::NeedsReview | Outcome::Unchanged => "warn",
                Outcome::Unchecked | Outcome::Interrupted | Outcome::Cancelled => "calm",
                Outcome::Timeout => "clock",
                _ => "bad",
            },
        }
    }

    /// Its value in filters: a state, or the wire name of an outcome.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Suspended => "suspended",
            Self::Backoff => "backoff",
            Self::Cancelling => "cancelling",
            Self::NeedsReview => "needs_review",
            Self::Accepted => "accepted",
            // `failed` is a group.
            Self::Finished(Outcome::Failed) => "agent_failed",
            Self::Finished(outcome) => outcome.as_str(),
        }
    }

    /// The label of a value of [`Self::key`].
    pub fn label_of_key(key: &str) -> String {
        match key {
            "max_retries_exhausted" => "checks still fail".to_owned(),
            "infra_failed" => "infrastructure failure".to_owned(),
            "backoff" => "waiting to retry".to_owned(),
            "timeout" => "time limit".to_owned(),
            key => key.replace('_', " "),
        }
    }

    /// Whether it is in a group, or has this value in filters; an empty filter includes everything.
    pub fn matches(self, filter: &str) -> bool {
        filter.is_empty() || self.group() == filter || self.key() == filter
    }

    /// All groups with their labels in the filter.
    pub const GROUPS: [(&'static str, &'static str); 9] = [
        ("running", "running"),
        ("waiting", "waiting"),
        ("review", "needs review"),
        ("stopped", "stopped"),
        ("verified", "verified"),
        ("accepted", "accepted by a person"),
        ("unchecked", "unchecked"),
        ("partial", "checks still fail"),
        ("failed", "failed"),
    ];
}

/// One task of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListItem {
    /// Id for links.
    pub id: String,
    /// Short id for people.
    pub short: String,
    /// The description, shortened to one line.
    pub description: String,
    /// The agent.
    pub agent: String,
    /// The workspace.
    pub workspace: String,
    /// The branch or other revision that the work begins from, if the task names one.
    pub branch: Option<String>,
    /// The status.
    pub status: DisplayStatus,
    /// Number of attempts that were started.
    pub attempts: u32,
    /// Maximum number of attempts that count against the limit.
    pub max_attempts: u32,
    /// Cost so far.
    pub cost: Cost,
    /// Input and output tokens, if known.
    pub tokens: Option<(u64, u64)>,
    /// When the task was created.
    pub created_at: Timestamp,
    /// When the task was last updated.
    pub updated_at: Timestamp,
    /// The worker that has the task.
    pub worker: Option<String>,
    /// The plan that the task belongs to.
    pub part_of: Option<ParentPlan>,
    /// The model that answered last, if known.
    pub model: Option<String>,
    /// The reason of the outcome, in one line; may be empty.
    pub reason: String,
}

/// A page of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// The tasks on the page.
    pub rows: Vec<TaskListItem>,
    /// Number of matching tasks on all pages.
    pub matching: usize,
    /// Number of all tasks.
    pub all: usize,
    /// All agents, for the filter.
    pub agents: Vec<String>,
    /// All workspaces and repositories, for the filter.
    pub places: Vec<String>,
    /// Number of tasks in each group, regardless of the query's group.
    pub groups: BTreeMap<&'static str, usize>,
    /// Number of tasks by [`DisplayStatus::key`], regardless of the query's group.
    pub outcomes: BTreeMap<&'static str, usize>,
}

/// The actions that the user may take on a task now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllowedActions {
    /// Review it.
    pub review: bool,
    /// Reject its work and grant another attempt.
    pub another_attempt: bool,
    /// Cancel it.
    pub cancel: bool,
    /// Create a new task like it.
    pub retry: bool,
}

/// Work that is awaiting review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReview {
    /// Id of the task that is awaiting review, for links: of a plan, the subtask's.
    pub task: String,
    /// The work to review.
    pub target: ReviewTarget,
}

/// The history of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskHistory {
    /// Not started.
    NotStarted,
    /// A single run.
    Run(Box<Run>),
    /// A plan whose subtasks ran in one workspace.
    Plan {
        /// The plan.
        plan: Box<Plan>,
        /// The runs of the subtasks that were started.
        runs: BTreeMap<RunId, Run>,
    },
    /// A plan whose subtasks are tasks of their own, with pages of their own.
    Subtasks {
        /// The subtasks.
        parts: Vec<SubtaskSummary>,
        /// Whether the combined changes of all subtasks are stored as one patch.
        has_patch: bool,
    },
}

/// A complete plan whose subtasks are tasks of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanDetail {
    /// The final result, or the current one.
    pub result: PlanResult,
    /// The runs of the subtasks that were started.
    pub runs: BTreeMap<RunId, Run>,
}

/// A subtask of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskSummary {
    /// Its id in the plan.
    pub id: String,
    /// The id of its task, once it was started.
    pub task: Option<String>,
    /// Subtasks that must be verified before it starts.
    pub needs: Vec<String>,
    /// The status.
    pub status: DisplayStatus,
    /// The reason for the status; may be empty.
    pub reason: String,
    /// Its cost, once it was started.
    pub cost: Option<Cost>,
}

/// Live information about an open session. For display only, never evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum LiveActivity {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The transcript so far can be read.
    Transcript(RunId, OutputRef),
    /// The last events that the worker sent, oldest first.
    Activity(Vec<ProgressEvent>),
}

/// One task with its history.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDetail {
    /// The task as a row of the list.
    pub row: TaskListItem,
    /// The full description.
    pub description: String,
    /// The history.
    pub history: TaskHistory,
    /// Event types that this release does not know.
    pub unknown: Vec<String>,
    /// Further facts: label and value.
    pub facts: Vec<(String, String)>,
    /// The work that is awaiting review, if any.
    pub review: Option<PendingReview>,
    /// The actions that are allowed now.
    pub rights: AllowedActions,
    /// Command lines for the task: label and command.
    pub commands: Vec<(&'static str, String)>,
    /// Live information about the agent of an open attempt.
    pub live: LiveActivity,
    /// Description of the sandbox beyond what each attempt reports; may be empty.
    pub sandbox: String,
}

impl TaskDetail {
    /// The run of a task that is a single run.
    pub fn run(&self) -> Option<&Run> {
        match &self.history {
            TaskHistory::Run(run) => Some(run),
            TaskHistory::NotStarted | TaskHistory::Plan { .. } | TaskHistory::Subtasks { .. } => {
                None
            }
        }
    }
}

/// Applies a query to a list of all tasks, for backends that hold all of them in memory. `stats` returns the statistics of
/// a task's run.
pub fn filter_tasks<'a>(
    all: &[TaskListItem],
    query: &TaskQuery,
    stats: impl Fn(&str) -> Option<&'a RunStats>,
) -> TaskList {
    let words: Vec<String> = query.words().map(str::to_lowercase).collect();
    let has_word = |row: &TaskListItem, word: &String| {
        [
            &row.description,
            &row.workspace,
            &row.id,
            &row.short,
            &row.reason,
        ]
        .iter()
        .any(|text| text.to_lowercase().contains(word))
            || stats(&row.id).is_some_and(|stats| stats.search_text.contains(word))
    };
    let wanted_stats = query.stats_filter();
    let has_stats = |row: &TaskListItem| {
        let matches = |wanted: &StatsFilter| stats(&row.id).is_some_and(|it| wanted.matches(it));
        wanted_stats.as_ref().is_none_or(matches)
    };
    let found = |row: &&TaskListItem| {
        let is_equal = |wanted: &str, actual: &str| wanted.is_empty() || wanted == actual;
        is_equal(&query.agent, &row.agent)
            && is_equal(&query.place, &row.workspace)
            && is_equal(&query.branch, row.branch.as_deref().unwrap_or_default())
            && is_equal(&query.worker, row.worker.as_deref().unwrap_or_default())
            && query.since.is_none_or(|since| row.created_at >= since)
            && query.until.is_none_or(|until| row.created_at < until)
            && has_stats(row)
            && words.iter().all(|word| has_word(row, word))
    };
    let mut groups = BTreeMap::new();
    let mut outcomes = BTreeMap::new();
    let mut rows: Vec<&TaskListItem> = Vec::new();
    for row in all.iter().filter(found) {
        *groups.entry(row.status.group()).or_default() += 1;
        *outcomes.entry(row.status.key()).or_default() += 1;
        if row.status.matches(&query.group) {
            rows.push(row);
        }
    }
    let names = |name: fn(&TaskListItem) -> &String| {
        let mut names: Vec<String> = all.iter().map(|row| name(row).clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    rows.sort_by(|a, b| {
        let order = match query.order {
            TaskQueryOrder::Created => a.created_at.cmp(&b.created_at),
            TaskQueryOrder::Updated => a.updated_at.cmp(&b.updated_at),
            TaskQueryOrder::Cost => a.cost.at_least().cmp(&b.cost.at_least()),
            TaskQueryOrder::Tokens => a.total_tokens().cmp(&b.total_tokens()),
            TaskQueryOrder::Attempts => a.attempts.cmp(&b.attempts),
            TaskQueryOrder::Duration => a.elapsed().cmp(&b.elapsed()),
            TaskQueryOrder::State => {
                let status = |row: &TaskListItem| (row.status.group(), row.status.key());
                status(a).cmp(&status(b))
            }
            TaskQueryOrder::Description => {
                let text = |row: &TaskListItem| row.description.to_ascii_lowercase();
                text(a).cmp(&text(b))
            }
            TaskQueryOrder::Agent => a.agent.cmp(&b.agent),
            TaskQueryOrder::Place => a.workspace.cmp(&b.workspace),
        };
        let newest = || (b.created_at, &b.id).cmp(&(a.created_at, &a.id));
        let order = if query.ascending {
            order
        } else {
            order.reverse()
        };
        order.then_with(newest)
    });
    let matching = rows.len();
    let first = query.on_last_page(matching).offset();
    let on_page = rows.into_iter().skip(first).take(TaskQuery::PER_PAGE);
    TaskList {
        rows: on_page.cloned().collect(),
        matching,
        all: all.len(),
        agents: names(|row| &row.agent),
        places: names(|row| &row.workspace),
        groups,
        outcomes,
    }
}

impl TaskListItem {
    /// Input and output tokens.
    fn total_tokens(&self) -> Option<u64> {
        let (input, output) = self.tokens?;
        Some(input.saturating_add(output))
    }

    /// Time between its first and its last change.
    pub fn elapsed(&self) -> jiff::SignedDuration {
        self.updated_at.duration_since(self.created_at)
    }
}
