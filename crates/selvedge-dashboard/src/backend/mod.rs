//! What the dashboard asks of whoever keeps the runs, and nothing more. The local journal and the
//! hub's store both answer; a page can't tell them apart but by what they leave out.

mod query;
mod task;

use std::fmt;

use futures_util::future::BoxFuture;
use selvedge_core::lease::ReviewAction;
use selvedge_core::model::{OutputRef, ReviewTarget, RunId};

pub(crate) use query::TaskQueryParams;
pub use query::{TaskQuery, TaskQueryOrder};
pub use task::{
    AllowedActions, DisplayStatus, LiveActivity, PendingReview, PlanDetail, SubtaskSummary,
    TaskDetail, TaskHistory, TaskList, TaskListItem, filter_tasks,
};

use crate::stats::RunStats;

/// Why something could not be read or done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DashboardError {
    /// It is not there, or not for this visitor.
    #[error("{0}")]
    NotFound(String),
    /// It cannot be done as things stand, and why.
    #[error("{0}")]
    Refused(String),
    /// The machinery failed.
    #[error("{0}")]
    Failed(String),
}

impl DashboardError {
    /// The machinery failed.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

/// An answer that takes a while.
pub type DashboardFuture<'a, T> = BoxFuture<'a, Result<T, DashboardError>>;

/// A piece of a stored output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputSlice {
    /// The bytes that were asked for, as far as there are any.
    pub bytes: Vec<u8>,
    /// Bytes of the whole, as it is now.
    pub total: u64,
}

/// Two trees to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffRange {
    /// What one attempt changed.
    Attempt(u32),
    /// What stands after an attempt, against the start of the run.
    SinceStart(u32),
    /// All that the run changed.
    Whole,
}

/// A unified diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffContent {
    /// What fitted.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

/// A machine that carries tasks out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Its name.
    pub name: String,
    /// Whether it is connected now.
    pub connected: bool,
    /// What it can do.
    pub labels: Vec<String>,
    /// Tasks that it takes at once.
    pub slots: u32,
    /// What it runs: the task's name in a link, and a few words.
    pub runs: Vec<(String, String)>,
    /// Leases that it lost.
    pub lost_leases: u64,
    /// Its version.
    pub version: String,
    /// What its sandbox enforces, in a few words.
    pub sandbox: String,
    /// When it was last heard of.
    pub seen: Option<jiff::Timestamp>,
}

/// A task that nobody can take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnschedulableTask {
    /// The task's name in a link.
    pub id: String,
    /// What it is about.
    pub description: String,
    /// Why.
    pub reason: String,
}

/// All machines, and what waits for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetOverview {
    /// The machines.
    pub workers: Vec<WorkerSummary>,
    /// Tasks that wait.
    pub queued: u64,
    /// Tasks at work.
    pub running: u64,
    /// How long the oldest has waited, in milliseconds.
    pub oldest_waiting_ms: Option<u64>,
    /// How long half of those that were started lately had waited, in milliseconds.
    pub median_wait_ms: Option<u64>,
    /// Tasks that nobody can take.
    pub unschedulable: Vec<UnschedulableTask>,
}

/// What a person decides about work that waits for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSubmission {
    /// What they decide.
    pub review: ReviewAction,
    /// The work that the page showed them.
    pub target: ReviewTarget,
    /// Why, in their words.
    pub reason: String,
}

/// Whoever looks at the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DashboardUser {
    /// Their name, or that of their token.
    pub name: String,
    /// Whether they may decide and stop things.
    pub can_act: bool,
    /// Whose tasks they see, where there are several: passed back with every question.
    pub tenant: Option<String>,
}

/// Whoever keeps the runs.
pub trait DashboardBackend: Send + Sync {
    /// The tasks that a query asks for.
    fn tasks<'a>(
        &'a self,
        visitor: &'a DashboardUser,
        query: &'a TaskQuery,
    ) -> DashboardFuture<'a, TaskList>;

    /// One task with its whole story.
    fn task<'a>(
        &'a self,
        visitor: &'a DashboardUser,
        id: &'a str,
    ) -> DashboardFuture<'a, TaskDetail>;

    /// All of a plan whose story tells only how its parts stand; nobody else is asked.
    fn plan<'a>(
        &'a self,
        visitor: &'a DashboardUser,
        id: &'a str,
    ) -> DashboardFuture<'a, PlanDetail> {
        let _ = (visitor, id);
        Box::pin(async { Err(DashboardError::NotFound("its story is whole".to_owned())) })
    }

    /// At most `length` bytes of a stored output of a run, from a place on.
    fn output<'a>(
        &'a self,
        run: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> DashboardFuture<'a, OutputSlice>;

    /// A diff between kept trees of a task's run.
    fn diff<'a>(
        &'a self,
        task: &'a TaskDetail,
        run: RunId,
        between: DiffRange,
    ) -> DashboardFuture<'a, DiffContent>;

    /// What is known of every run, for the statistics.
    fn run_stats<'a>(&'a self, visitor: &'a DashboardUser) -> DashboardFuture<'a, Vec<RunStats>>;

    /// The machines, where there are any.
    fn fleet<'a>(
        &'a self,
        visitor: &'a DashboardUser,
    ) -> DashboardFuture<'a, Option<FleetOverview>>;

    /// A word that is another one once anything on a page may have changed: of one task, or of all.
    /// It is asked for twice a second by every open page, and must be cheap.
    fn change_token<'a>(
        &'a self,
        visitor: &'a DashboardUser,
        task: Option<&'a str>,
    ) -> DashboardFuture<'a, String>;

    /// Carries out a decision; gives what to tell the person.
    fn review<'a>(
        &'a self,
        visitor: &'a DashboardUser,
        id: &'a str,
        decision: ReviewSubmission,
    ) -> DashboardFuture<'a, String>;

    /// Stops a task for good.
    fn cancel<'a>(&'a self, visitor: &'a DashboardUser, id: &'a str)
    -> DashboardFuture<'a, String>;

    /// Makes a new task like this one; gives its name in a link.
    fn retry<'a>(&'a self, visitor: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, String>;
}
