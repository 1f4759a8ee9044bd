//! The rows of the hub's tables, as the rest of the program sees them. Bodies (tasks, reports,
//! results, events) are text that is kept as it came.

use selvedge_core::lease::{LeaseCredential, LeaseState};
use selvedge_core::model::{AttemptEnd, MicroUsd, Outcome, ParentPlan, TaskId};
use selvedge_core::protocol::TaskState;
use uuid::Uuid;

/// A task to be taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub task_id: TaskId,
    /// Whose it is.
    pub tenant: String,
    /// Who submitted it: the name of a token.
    pub submitted_by: String,
    /// The task that this one tries again.
    pub retry_of: Option<TaskId>,
    /// The plan that it is a part of.
    pub part_of: Option<ParentPlan>,
    /// What a list shows: the beginning of its description.
    pub title: String,
    /// The agent that it names.
    pub agent: Option<String>,
    /// Where it works, as a list shows it.
    pub place: Option<String>,
    /// 0 to 9.
    pub priority: u8,
    /// What a worker must offer, sorted.
    pub labels: Vec<String>,
    /// Attempts that it may have.
    pub max_attempts: u32,
    /// The whole task as JSON.
    pub body: String,
    /// The client's key for doing this once, and a hash of all that it asked.
    pub idempotency: Option<(String, [u8; 32])>,
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// It was taken in.
    New(TaskId),
    /// The same request had been made under this key.
    Duplicate(TaskId),
    /// Another request had been made under this key.
    IdempotencyConflict(TaskId),
    /// There is a task with this id.
    IdTaken,
}

/// The part of a task that decisions are made on.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// Which.
    pub task_id: TaskId,
    /// Who may work on it.
    pub lease: LeaseState,
    /// The last entry of the holder's stream that counted; 0 with every grant.
    pub entry_seq: u64,
    /// The last event of the run's journal.
    pub event_seq: u64,
    /// The last line of the hub's log.
    pub log_seq: u64,
    /// Why it ended so, in one line, as its worker says it.
    pub reason: Option<String>,
    /// Milliseconds since 1970.
    pub updated_at: i64,
}

/// What a list, a page and a client see of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The part that decisions are made on.
    pub row: TaskRecord,
    /// Whose it is.
    pub tenant: String,
    /// The token that submitted it.
    pub submitted_by: String,
    /// The task that this one tries again.
    pub retry_of: Option<TaskId>,
    /// The plan that it is a part of.
    pub part_of: Option<ParentPlan>,
    /// The beginning of its description.
    pub title: String,
    /// The agent that it names.
    pub agent: Option<String>,
    /// Where it works.
    pub place: Option<String>,
    /// 0 to 9.
    pub priority: u8,
    /// What a worker must offer.
    pub labels: Vec<String>,
    /// Attempts that it may have.
    pub max_attempts: u32,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// What it cost so far.
    pub cost: LedgerTotal,
}

/// A sum over the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerTotal {
    /// Distinct calls.
    pub calls: u64,
    /// Those of which the price is not known.
    pub unknown: u64,
    /// Those of which it is estimated.
    pub estimated: u64,
    /// The known part.
    pub micro_usd: MicroUsd,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
}

/// Which tasks a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// In any of these states; all when empty.
    pub states: Vec<TaskState>,
    /// With this outcome.
    pub outcome: Option<Outcome>,
    /// With this agent.
    pub agent: Option<String>,
    /// Held, or last held, by this worker.
    pub worker: Option<String>,
    /// That ask for this label.
    pub label: Option<String>,
    /// Of this tenant.
    pub tenant: Option<String>,
    /// With this in the title or the place.
    pub text: Option<String>,
    /// Older than this one: the last of the page before.
    pub before: Option<TaskId>,
}

/// A page of a list, the newest first.
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

/// A run of a task: begun, and perhaps closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// Its number.
    pub run_number: u32,
    /// The grant under which it began.
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
    /// The attempt that it judges.
    pub run_number: u32,
    /// The grant under which it was made.
    pub epoch: u64,
    /// As it came.
    pub body: String,
}

/// A stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The worker's id of it.
    pub completion_id: String,
    /// As it came.
    pub body: String,
}

/// What a worker asks for when it has room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollRequest {
    /// Its name.
    pub worker: String,
    /// All that it offers.
    pub labels: Vec<String>,
    /// How many tasks.
    pub slots: usize,
    /// Tasks that it is not to get now.
    pub excluded: Vec<TaskId>,
}

/// A task that was given to a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Whom to.
    pub worker: String,
    /// The fence.
    pub fence: LeaseCredential,
    /// The task's row after the grant.
    pub row: TaskRecord,
    /// The whole task as JSON.
    pub body: String,
}

/// Tasks that wait, by what they ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedGroup {
    /// What a worker must offer.
    pub labels: Vec<String>,
    /// How many wait.
    pub waiting: u64,
    /// Since when the oldest waits: milliseconds since 1970.
    pub since: i64,
}

/// Numbers over everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Tasks by state.
    pub states: Vec<(TaskState, u64)>,
    /// Finished tasks by outcome.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Verified tasks by how many reports they took.
    pub verified_after: Vec<(u32, u64)>,
    /// Finished tasks by how many reports they took.
    pub reports: Vec<(u32, u64)>,
    /// Losses over all tasks.
    pub losses: u64,
    /// Closed runs by how.
    pub closings: Vec<(AttemptEnd, u64)>,
    /// The ledger's sum.
    pub cost: LedgerTotal,
    /// What waits.
    pub waiting: Vec<QueuedGroup>,
}

/// Who asks: a token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// Its public id.
    pub token_id: Uuid,
    /// What people call it.
    pub name: String,
    /// The first characters of the secret.
    pub prefix: String,
    /// Whose it is.
    pub tenant: String,
    /// What it may do, in words.
    pub scopes: Vec<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it ends by itself.
    pub expires_at: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
}

/// A token to be kept: only its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiToken {
    /// Its public id.
    pub token_id: Uuid,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The first characters of the secret, by which a person knows it again.
    pub prefix: String,
    /// SHA-256 of the whole secret.
    pub hash: [u8; 32],
    /// How long it lasts, in milliseconds.
    pub lasts_ms: Option<i64>,
}

/// How much of a blob is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// All of it.
    Complete {
        /// Its size in bytes.
        size: u64,
    },
    /// The beginning.
    Partial {
        /// Bytes that are there.
        offset: u64,
    },
    /// The chunk does not begin where the last one ended.
    OffsetMismatch {
        /// Where it ended.
        offset: u64,
    },
    /// All bytes came, and they are others than the name says: nothing is kept.
    WrongHash,
    /// Nothing of it.
    Missing,
}
