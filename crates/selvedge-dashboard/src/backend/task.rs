//! A task as a list shows it, and as its own page does.

use std::collections::BTreeMap;

use selvedge_core::machine::Run;
use selvedge_core::model::{
    Cost, Outcome, OutputRef, ParentPlan, PlanResult, ReviewTarget, RunId, Timestamp,
};
use selvedge_core::plan::Plan;
use selvedge_core::protocol::ProgressEvent;

use super::query::{TaskQuery, TaskQueryOrder};

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayStatus {
    /// It waits for a machine.
    Queued,
    /// It is at work.
    Running,
    /// It began, and nobody is at work on it.
    Interrupted,
    /// It was stopped for now, in order.
    Suspended,
    /// It waits to be tried again.
    Backoff,
    /// It is being stopped.
    Cancelling,
    /// A person has to decide.
    NeedsReview,
    /// It is over.
    Finished(Outcome),
}

impl DisplayStatus {
    /// As people read it.
    pub fn word(self) -> String {
        match self {
            Self::Queued => "queued".to_owned(),
            Self::Running => "running".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Suspended => "suspended".to_owned(),
            Self::Backoff => "waiting to be tried again".to_owned(),
            Self::Cancelling => "stopping".to_owned(),
            Self::NeedsReview => "needs review".to_owned(),
            Self::Finished(outcome) => match outcome {
                Outcome::MaxRetriesExhausted => "checks still fail".to_owned(),
                Outcome::Failed => "agent failed".to_owned(),
                Outcome::InfraFailed => "infrastructure".to_owned(),
                outcome => outcome.as_str().replace('_', " "),
            },
        }
    }

    /// The group that filters and colours go by.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Queued | Self::Backoff => "waiting",
            Self::Running | Self::Cancelling => "running",
            Self::Interrupted | Self::Suspended => "stopped",
            Self::NeedsReview => "review",
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

    /// All groups, with what they are called in the filter.
    pub const GROUPS: [(&'static str, &'static str); 8] = [
        ("running", "running"),
        ("waiting", "waiting"),
        ("review", "needs review"),
        ("stopped", "stopped for now"),
        ("verified", "verified"),
        ("unchecked", "unchecked"),
        ("partial", "checks still fail"),
        ("failed", "failed"),
    ];
}

/// One task in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListItem {
    /// Its name in a link.
    pub id: String,
    /// Its name for people.
    pub short: String,
    /// What is to be done, in a line.
    pub description: String,
    /// Who works.
    pub agent: String,
    /// Where.
    pub workspace: String,
    /// How it stands.
    pub standing: DisplayStatus,
    /// Attempts begun.
    pub attempts: u32,
    /// Attempts that may be charged.
    pub max_attempts: u32,
    /// What it cost so far.
    pub cost: Cost,
    /// Tokens in and out, where they are known.
    pub tokens: Option<(u64, u64)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened.
    pub updated_at: Timestamp,
    /// The machine that has it.
    pub worker: Option<String>,
    /// The plan that it is a part of.
    pub part_of: Option<ParentPlan>,
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// Those on the page.
    pub rows: Vec<TaskListItem>,
    /// How many there are on all pages.
    pub matching: usize,
    /// How many there are at all.
    pub all: usize,
    /// The agents that there are, for the filter.
    pub agents: Vec<String>,
    /// How many stand in each group, whatever the query says of it.
    pub groups: BTreeMap<&'static str, usize>,
}

/// What can be done with a task now, by this visitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllowedActions {
    /// Decide about it.
    pub review: bool,
    /// Give rejected work another attempt.
    pub another_attempt: bool,
    /// Stop it.
    pub cancel: bool,
    /// Make a new one like it.
    pub retry: bool,
}

/// Work that a person has to decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReview {
    /// The task that is awaiting review, by its name in a link: of a plan, the subtask.
    pub task: String,
    /// Its work.
    pub target: ReviewTarget,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskHistory {
    /// Nothing yet.
    NotStarted,
    /// One run.
    Run(Box<Run>),
    /// Several, of the parts of a plan.
    Plan {
        /// The plan.
        plan: Box<Plan>,
        /// The runs of its parts, as far as they have begun.
        runs: BTreeMap<RunId, Run>,
    },
    /// How the parts of a plan stand, each a task of its own that tells the rest.
    Subtasks {
        /// The parts.
        parts: Vec<SubtaskSummary>,
        /// Whether the work of all of them is kept as one patch.
        has_patch: bool,
    },
}

/// A plan whose parts are tasks of their own, told whole.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanDetail {
    /// Its result, as it ended or stands.
    pub result: PlanResult,
    /// The runs of its parts, as far as they have begun.
    pub runs: BTreeMap<RunId, Run>,
}

/// A part of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskSummary {
    /// What the plan calls it.
    pub id: String,
    /// The task that it is, once it has begun.
    pub task: Option<String>,
    /// The parts that must be verified before.
    pub needs: Vec<String>,
    /// How it stands.
    pub standing: DisplayStatus,
    /// Why it stands so; may be empty.
    pub reason: String,
    /// What it cost, once it has begun.
    pub cost: Option<Cost>,
}

/// What is known of a session that goes on. A view, never evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum LiveActivity {
    /// Nothing.
    #[default]
    Unknown,
    /// What it printed so far can be read.
    Transcript(RunId, OutputRef),
    /// What the machine that has it told last, the oldest first.
    Activity(Vec<ProgressEvent>),
}

/// One task with its whole story.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDetail {
    /// As a list shows it.
    pub row: TaskListItem,
    /// What is to be done, word for word.
    pub description: String,
    /// What happened.
    pub history: TaskHistory,
    /// Types of events that this release does not know.
    pub unknown: Vec<String>,
    /// More that is known of it: what it is called, and what it is.
    pub facts: Vec<(String, String)>,
    /// The work that a person has to decide on, while one has to.
    pub review: Option<PendingReview>,
    /// What can be done with it now.
    pub rights: AllowedActions,
    /// What can be done with it on a command line: what that does, and the line.
    pub commands: Vec<(&'static str, String)>,
    /// What the agent of an open attempt does.
    pub live: LiveActivity,
    /// What is known of its sandbox beside what each attempt tells, in words; may be empty.
    pub sandbox: String,
}

/// Applies a query to all tasks: for whoever has them all at hand.
pub fn filter_tasks(all: &[TaskListItem], query: &TaskQuery) -> TaskList {
    let needle = query.text.to_lowercase();
    let found = |row: &&TaskListItem| {
        let agent = query.agent.is_empty() || row.agent == query.agent;
        let text = needle.is_empty()
            || [&row.description, &row.workspace, &row.id, &row.short]
                .iter()
                .any(|text| text.to_lowercase().contains(&needle));
        agent && text
    };
    let mut groups = BTreeMap::new();
    let mut rows: Vec<&TaskListItem> = Vec::new();
    for row in all.iter().filter(found) {
        *groups.entry(row.standing.group()).or_default() += 1;
        if query.group.is_empty() || row.standing.group() == query.group {
            rows.push(row);
        }
    }
    let mut agents: Vec<String> = all.iter().map(|row| row.agent.clone()).collect();
    agents.sort_unstable();
    agents.dedup();
    match query.order {
        TaskQueryOrder::Newest => rows.sort_by_key(|row| std::cmp::Reverse(row.created_at)),
        TaskQueryOrder::Oldest => rows.sort_by_key(|row| row.created_at),
        TaskQueryOrder::RecentlyUpdated => {
            rows.sort_by_key(|row| std::cmp::Reverse(row.updated_at));
        }
        TaskQueryOrder::MostExpensive => {
            rows.sort_by_key(|row| std::cmp::Reverse(row.cost.at_least()));
        }
        TaskQueryOrder::Tokens => rows.sort_by_key(|row| {
            let total = |(input, output): (u64, u64)| input.saturating_add(output);
            std::cmp::Reverse(row.tokens.map(total))
        }),
        TaskQueryOrder::Attempts => rows.sort_by_key(|row| std::cmp::Reverse(row.attempts)),
    }
    let matching = rows.len();
    let first = query.offset();
    let on_page = rows.into_iter().skip(first).take(TaskQuery::PER_PAGE);
    TaskList {
        rows: on_page.cloned().collect(),
        matching,
        all: all.len(),
        agents,
        groups,
    }
}
