//! The rows of the hub's tables, independent of the database. Bodies (tasks, reports, results, events) are
//! text that is stored unchanged.

use selvedge_core::model::{AttemptEnd, MicroUsd, Outcome, ParentPlan, TaskId};
use selvedge_protocol::lease::LeaseState;
use selvedge_protocol::{LeaseId, LeaseToken, PersonId, TaskState};
use uuid::Uuid;

use super::access::{AuditAction, AuditActor, person_column};
use super::error::HubStoreError;

/// A task to submit.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub task_id: TaskId,
    /// The project that owns it.
    pub project: String,
    /// The name of the token or the person that submitted it.
    pub submitted_by: String,
    /// The person who submitted it, or the plan that contains it; `None` if a token did.
    pub person: Option<PersonId>,
    /// The user, for the audit log; `None` for tasks of the hub itself.
    pub actor: Option<AuditActor>,
    /// The task that this one retries.
    pub retry_of: Option<TaskId>,
    /// The plan that contains it.
    pub part_of: Option<ParentPlan>,
    /// The beginning of its description, for lists.
    pub title: String,
    /// The requested agent.
    pub agent: Option<String>,
    /// The workspace, as shown in lists.
    pub place: Option<String>,
    /// The priority, from 0 to 9.
    pub priority: u8,
    /// The labels that a worker must offer, sorted.
    pub labels: Vec<String>,
    /// Maximum number of attempts.
    pub max_attempts: u32,
    /// The whole task as JSON.
    pub body: String,
    /// The client's idempotency key and a hash of the whole request.
    pub idempotency: Option<(String, [u8; 32])>,
}

impl NewTask {
    /// The stored form of the person.
    pub(crate) fn person_column(&self) -> Result<Option<String>, HubStoreError> {
        self.person.as_ref().map(person_column).transpose()
    }

    /// An action of a user and its details, for the audit log.
    pub(crate) fn audit(&self) -> (AuditAction, String) {
        match self.retry_of {
            None => (AuditAction::SubmitTask, String::new()),
            Some(task) => (AuditAction::RetryTask, format!("of {task}")),
        }
    }
}

/// The result of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// The task was created.
    New(TaskId),
    /// The same request was already made under this key.
    Duplicate(TaskId),
    /// Another request was already made under this key.
    IdempotencyConflict(TaskId),
    /// A task with this id already exists.
    IdTaken,
    /// The project's tasks may only use repositories that match one of these patterns.
    RepositoryNotAllowed(Vec<String>),
    /// The project's queue is full.
    QueueFull {
        /// Maximum number of queued tasks.
        limit: u32,
    },
    /// The project was deleted.
    ProjectDeleted,
}

/// The part of a task that decisions are based on.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// The task's id.
    pub task_id: TaskId,
    /// The lease and the task's state.
    pub lease: LeaseState,
    /// The last accepted entry of the holder's stream; 0 after each assignment.
    pub entry_seq: u64,
    /// The last event of the run's journal.
    pub event_seq: u64,
    /// The last line of the hub's log.
    pub log_seq: u64,
    /// Maximum number of attempts that count against the retry limit.
    pub max_attempts: u32,
    /// The reason of the outcome, or of the last lost lease until the next attempt begins, in one line.
    pub reason: Option<String>,
    /// When it was submitted, in milliseconds since 1970.
    pub created_at: i64,
    /// When it changed last, in milliseconds since 1970.
    pub updated_at: i64,
}

impl TaskRecord {
    /// Its last assignment.
    pub const fn lease_id(&self) -> LeaseId {
        LeaseId {
            task_id: self.task_id,
            lease_epoch: self.lease.epoch,
        }
    }

    /// The credential of its last assignment.
    pub fn lease_token(&self) -> LeaseToken {
        LeaseToken {
            task_id: self.task_id,
            lease_epoch: self.lease.epoch,
            lease_token: self.lease.token.clone().unwrap_or_default(),
        }
    }
}

/// A task as shown in lists, on pages and to clients.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The part that decisions are based on.
    pub row: TaskRecord,
    /// The project that owns it.
    pub project: String,
    /// The name of the token or the person that submitted it.
    pub submitted_by: String,
    /// The number of its [submitter](super::ProjectSubmitter); `None` for plans, and for tasks that had ended before there
    /// were projects.
    pub submitter: Option<i64>,
    /// The task that this one retries.
    pub retry_of: Option<TaskId>,
    /// The plan that contains it.
    pub part_of: Option<ParentPlan>,
    /// The beginning of its description.
    pub title: String,
    /// The requested agent.
    pub agent: Option<String>,
    /// The workspace.
    pub place: Option<String>,
    /// The priority, from 0 to 9.
    pub priority: u8,
    /// The labels that a worker must offer.
    pub labels: Vec<String>,
    /// Its cost so far.
    pub cost: LedgerTotal,
}

/// A sum over the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerTotal {
    /// Distinct calls.
    pub calls: u64,
    /// Calls with an unknown price.
    pub unknown: u64,
    /// Calls with an estimated price.
    pub estimated: u64,
    /// The known part of the cost.
    pub micro_usd: MicroUsd,
    /// Input tokens.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
}

/// A filter of a list of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Tasks in any of these states; all if empty.
    pub states: Vec<TaskState>,
    /// Tasks with this outcome.
    pub outcome: Option<Outcome>,
    /// Tasks with this agent.
    pub agent: Option<String>,
    /// Tasks that are, or were last, held by this worker.
    pub worker: Option<String>,
    /// Tasks that require this label.
    pub label: Option<String>,
    /// Tasks of this project.
    pub project: Option<String>,
    /// Tasks with this text in the title or the workspace.
    pub text: Option<String>,
    /// Whether to omit tasks that were submitted again.
    pub without_retried: bool,
    /// Tasks older than this one, which is the last of the previous page.
    pub before: Option<TaskId>,
}

/// A page of a list, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListPage {
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Whether there are more.
    pub more: bool,
}

/// A line of the hub's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its number in the task, from 1.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// A `LeaseEvent` as JSON.
    pub event: String,
}

/// An attempt of a task: begun, and perhaps closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// Its number.
    pub attempt_number: u32,
    /// The epoch of the lease under which it began.
    pub epoch: u64,
    /// Milliseconds since 1970.
    pub begun_at: i64,
    /// Milliseconds since 1970.
    pub closed_at: Option<i64>,
    /// How it ended.
    pub end: Option<AttemptEnd>,
}

/// A stored report, or late evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// The attempt that it is about.
    pub attempt_number: u32,
    /// The epoch of the lease under which it was made.
    pub epoch: u64,
    /// The report, unchanged.
    pub body: String,
}

/// A stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The worker's id for it.
    pub completion_id: String,
    /// The result, unchanged.
    pub body: String,
}

/// A request for tasks from a worker with free slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollRequest {
    /// The worker's name.
    pub worker: String,
    /// The project whose tasks it takes; `None` for all.
    pub project: Option<String>,
    /// All labels that it offers.
    pub labels: Vec<String>,
    /// The agents that it can run; `None` for any.
    pub agents: Option<Vec<String>>,
    /// The folders of its machine that tasks may use; `None` for any.
    pub folders: Option<Vec<String>>,
    /// Maximum number of tasks to assign.
    pub slots: usize,
    /// Tasks that must not be assigned to it now.
    pub excluded: Vec<TaskId>,
}

impl PollRequest {
    /// Everything that decides which tasks the worker can run.
    pub fn capabilities(&self) -> impl Ord + std::hash::Hash + '_ {
        (&self.project, &self.labels, &self.agents, &self.folders)
    }
}

/// A task that was assigned to a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The worker's name.
    pub worker: String,
    /// The task's row after the assignment.
    pub row: TaskRecord,
    /// The whole task as JSON.
    pub body: String,
}

/// Queued tasks that require the same labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedGroup {
    /// The labels that a worker must offer.
    pub labels: Vec<String>,
    /// The number of these tasks.
    pub waiting: u64,
    /// When the oldest was queued: milliseconds since 1970.
    pub since: i64,
}

/// Totals over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Tasks by state.
    pub states: Vec<(TaskState, u64)>,
    /// Finished tasks by outcome.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Tasks with the outcome `verified` because a person accepted their work.
    pub accepted: u64,
    /// Tasks that their checks verified, by the number of their reports.
    pub verified_after: Vec<(u32, u64)>,
    /// Finished tasks by the number of their reports.
    pub reports: Vec<(u32, u64)>,
    /// Lost leases over all tasks.
    pub losses: u64,
    /// Closed attempts by how they ended. The interruption of a task's last attempt counts once it is final:
    /// until then the attempt's report may still arrive.
    pub closings: Vec<(AttemptEnd, u64)>,
    /// Attempts after the first one of a task, by how the previous attempt ended.
    pub retries: Vec<(AttemptEnd, u64)>,
    /// The ledger's sum.
    pub cost: LedgerTotal,
    /// Queued tasks by labels.
    pub waiting: Vec<QueuedGroup>,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// Its public id.
    pub token_id: Uuid,
    /// Its name.
    pub name: String,
    /// The first characters of the secret.
    pub prefix: String,
    /// The project that it belongs to.
    pub project: String,
    /// The names of its scopes.
    pub scopes: Vec<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it expires: milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// When it was last used, to the minute: milliseconds since 1970.
    pub last_used_at: Option<i64>,
    /// When it was revoked: milliseconds since 1970.
    pub revoked_at: Option<i64>,
}

/// A token to store: contains only the hash of the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiToken {
    /// Its public id.
    pub token_id: Uuid,
    /// Its name.
    pub name: String,
    /// The project that it belongs to.
    pub project: String,
    /// The names of its scopes.
    pub scopes: Vec<String>,
    /// The first characters of the secret, by which a person recognizes it.
    pub prefix: String,
    /// SHA-256 of the whole secret.
    pub hash: [u8; 32],
    /// Its lifetime in milliseconds; `None` until revoked.
    pub lasts_ms: Option<i64>,
    /// The user who creates it, for the audit log.
    pub created_by: AuditActor,
}

impl NewApiToken {
    /// Its name and scopes, for the audit log.
    pub(crate) fn audit_detail(&self) -> String {
        format!("{}, scopes {}", self.name, self.scopes.join(","))
    }
}
