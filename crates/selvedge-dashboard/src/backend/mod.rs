//! The data source of the dashboard, implemented for the local journal and for the hub's store. Their pages differ only
//! in data that one of them lacks.

mod query;
mod stats_filter;
mod task;

use std::fmt;

use futures_util::future::BoxFuture;
use selvedge_core::model::{OutputRef, ReviewTarget, RunId, Task};
use selvedge_protocol::{PersonId, ReviewDecision};
use uuid::Uuid;

pub(crate) use query::TaskQueryParams;
pub use query::{TaskQuery, TaskQueryOrder};
pub use stats_filter::{
    CheckFilter, CheckNumber, FindingFilter, ModelFilter, ResultFilter, StatsFilter,
};
pub use task::{
    AllowedActions, DisplayStatus, LiveActivity, PendingReview, PlanDetail, SubtaskSummary,
    TaskDetail, TaskHistory, TaskList, TaskListItem, filter_tasks,
};

use crate::stats::RunStats;

/// Why something could not be read or done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DashboardError {
    /// Not found, or not visible to this user.
    #[error("{0}")]
    NotFound(String),
    /// The action is not possible in the current state, with the reason.
    #[error("{0}")]
    Refused(String),
    /// An internal error.
    #[error("{0}")]
    Failed(String),
}

impl DashboardError {
    /// An internal error.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

/// Why a backend without a queue accepts no tasks.
const NO_SUBMISSION: &str = "start a local run in a terminal with `selvedge run`";

/// A future with the result of a query or an action.
pub type DashboardFuture<'a, T> = BoxFuture<'a, Result<T, DashboardError>>;

/// A part of a stored output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputSlice {
    /// The requested bytes; fewer if the output is shorter.
    pub bytes: Vec<u8>,
    /// Current size of the whole output, in bytes.
    pub total: u64,
}

/// The two trees that a diff compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffRange {
    /// The changes of one attempt.
    Attempt(u32),
    /// The state after an attempt, against the start of the run.
    SinceStart(u32),
    /// All changes of the run.
    Whole,
}

/// A unified diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffContent {
    /// The diff, up to the size limit.
    pub bytes: Vec<u8>,
    /// Whether the diff was cut off.
    pub truncated: bool,
}

/// A worker: a machine that carries out tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Its name.
    pub name: String,
    /// Whether it is connected now.
    pub connected: bool,
    /// Its capabilities.
    pub labels: Vec<String>,
    /// Maximum number of concurrent tasks.
    pub slots: u32,
    /// Its running tasks: the id for links and a short description.
    pub runs: Vec<(String, String)>,
    /// The agents that it can run; `None` if it did not announce them.
    pub agents: Option<Vec<String>>,
    /// Until when it gets no tasks, and why.
    pub quarantine: Option<(jiff::Timestamp, String)>,
    /// Number of leases that it lost.
    pub lost_leases: u64,
    /// Its version.
    pub version: String,
    /// The restrictions of its sandbox, in a few words.
    pub sandbox: String,
    /// Time of the last message from it.
    pub seen: Option<jiff::Timestamp>,
}

/// A queued task that no worker can take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnschedulableTask {
    /// The task's id for links.
    pub id: String,
    /// The task's description.
    pub description: String,
    /// Why no worker can take it.
    pub reason: String,
}

/// All workers and the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetOverview {
    /// The workers.
    pub workers: Vec<WorkerSummary>,
    /// Number of queued tasks.
    pub queued: u64,
    /// Number of running tasks.
    pub running: u64,
    /// How long the oldest queued task has waited, in milliseconds.
    pub oldest_waiting_ms: Option<u64>,
    /// Median wait of recently started tasks, in milliseconds.
    pub median_wait_ms: Option<u64>,
    /// Tasks that no worker can take.
    pub unschedulable: Vec<UnschedulableTask>,
}

/// A person's review decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSubmission {
    /// The decision.
    pub review: ReviewDecision,
    /// The work that the page showed to the reviewer.
    pub target: ReviewTarget,
    /// The reviewer's reason.
    pub reason: String,
}

/// How a held decision ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldDecisionEnd {
    /// It was undone.
    Undone,
    /// It was applied at once.
    Applied,
}

/// A user of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DashboardUser {
    /// The user's name, or the name of their token.
    pub name: String,
    /// Whether the user may review, cancel and retry tasks.
    pub can_act: bool,
    /// Project whose tasks the user sees, where there are several; passed to every query.
    pub project: Option<String>,
    /// The user's token, where users have tokens.
    pub token_id: Option<Uuid>,
    /// The person, if they signed in at the identity provider.
    pub person: Option<PersonId>,
    /// The session, where sessions are stored.
    pub session_id: Option<Uuid>,
}

/// Access to the stored runs.
pub trait DashboardBackend: Send + Sync {
    /// Lists the tasks that match a query.
    fn tasks<'a>(
        &'a self,
        user: &'a DashboardUser,
        query: &'a TaskQuery,
    ) -> DashboardFuture<'a, TaskList>;

    /// One task with its history.
    fn task<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, TaskDetail>;

    /// The complete plan of a task whose [`TaskHistory`] only summarises the subtasks; not called for other tasks.
    fn plan<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, PlanDetail> {
        let _ = (user, id);
        Box::pin(async {
            Err(DashboardError::NotFound(
                "the task is not a plan".to_owned(),
            ))
        })
    }

    /// At most `length` bytes of a stored output of a task's run, starting at an offset.
    fn output<'a>(
        &'a self,
        task: &'a TaskDetail,
        run: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> DashboardFuture<'a, OutputSlice>;

    /// A diff between stored trees of a task's run.
    fn diff<'a>(
        &'a self,
        task: &'a TaskDetail,
        between: DiffRange,
    ) -> DashboardFuture<'a, DiffContent>;

    /// Statistics of every run.
    fn run_stats<'a>(&'a self, user: &'a DashboardUser) -> DashboardFuture<'a, Vec<RunStats>>;

    /// The workers, where there are any.
    fn fleet<'a>(&'a self, user: &'a DashboardUser) -> DashboardFuture<'a, Option<FleetOverview>>;

    /// A token that changes whenever a page may have changed: the page of one task, or any page. Every open
    /// page polls it twice a second, so it must be cheap.
    fn change_token<'a>(
        &'a self,
        user: &'a DashboardUser,
        task: Option<&'a str>,
    ) -> DashboardFuture<'a, String>;

    /// Carries out a review decision. Returns the message for the user.
    fn review<'a>(
        &'a self,
        user: &'a DashboardUser,
        id: &'a str,
        decision: ReviewSubmission,
    ) -> DashboardFuture<'a, String>;

    /// Records that a user undid a held decision of a reviewer, or applied it at once. Only backends with several users
    /// record it.
    fn record_held_decision<'a>(
        &'a self,
        user: &'a DashboardUser,
        id: &'a str,
        end: HeldDecisionEnd,
        decision: ReviewDecision,
        reviewer: &'a str,
    ) -> DashboardFuture<'a, ()> {
        let _ = (user, id, end, decision, reviewer);
        Box::pin(async { Ok(()) })
    }

    /// Cancels a task permanently.
    fn cancel<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, String>;

    /// The task as it was submitted, to begin a new one from; an empty task for `None`.
    fn draft<'a>(
        &'a self,
        user: &'a DashboardUser,
        from: Option<&'a str>,
    ) -> DashboardFuture<'a, Task> {
        let _ = (user, from);
        Box::pin(async { Err(DashboardError::Refused(NO_SUBMISSION.to_owned())) })
    }

    /// Submits a task. Returns its id for links.
    fn submit<'a>(&'a self, user: &'a DashboardUser, task: Task) -> DashboardFuture<'a, String> {
        let _ = (user, task);
        Box::pin(async { Err(DashboardError::Refused(NO_SUBMISSION.to_owned())) })
    }

    /// Creates a new task like this one. Returns its id for links.
    fn retry<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, String>;
}
