//! Responses with tasks, journals, reports and workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capabilities::{WorkerCapabilities, WorkerQuarantine};
use super::state::TaskState;
use selvedge_core::model::{
    Cost, Envelope, Outcome, Report, ReviewRecord, ReviewTarget, Task, TaskId, Timestamp,
};

/// One task in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    /// The id of the task and of its run.
    pub task_id: TaskId,
    /// The state.
    pub state: TaskState,
    /// The outcome, or current state, once its worker has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The reason, in one line: of the outcome, or why the last worker no longer holds the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it is queued again, while it is delayed after a lost lease or an infrastructure failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes_at: Option<Timestamp>,
    /// The last review, until another attempt begins: accepted work has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The work that awaits review, if any; only in the response for a single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting_review: Option<ReviewTarget>,
    /// The first non-empty line of the description, shortened.
    #[serde(default)]
    pub description: String,
    /// The requested agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The repository, or the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The last attempt number so far.
    #[serde(default)]
    pub attempts: u32,
    /// Maximum number of attempts that count against the retry limit.
    #[serde(default)]
    pub max_attempts: u32,
    /// Leases lost and infrastructure errors.
    #[serde(default)]
    pub infra_losses: u32,
    /// The cost so far: the sum of the ledger.
    #[serde(default)]
    pub cost: Cost,
    /// Tokens in and out so far.
    #[serde(default)]
    pub tokens: u64,
    /// The number of its last assignment; 0 for none.
    #[serde(default)]
    pub lease_epoch: u64,
    /// The current or last holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// 0 to 9.
    #[serde(default)]
    pub priority: u8,
    /// Labels that a worker must have.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The project that owns it; called `tenant` by older hubs.
    #[serde(default, alias = "tenant")]
    pub project: String,
    /// Why no worker can currently run it, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplaceable: Option<String>,
    /// The reached limit of its project for which it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// The task of which it is a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TaskId>,
    /// The reason of a cancellation, if it is to be cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The last event of its journal.
    #[serde(default)]
    pub last_event_seq: u64,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The plan that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// Its subtasks, if it is a plan; only in the response for a single task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<SubtaskRow>,
    /// The complete task; only in the response for a single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<Task>>,
}

/// A subtask in the response for its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskRow {
    /// Its id within the plan.
    pub id: String,
    /// The id of its task, also before it has begun.
    pub task_id: TaskId,
    /// Subtasks that must be verified before it begins.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The state; absent until it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// The outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The reason of its outcome, or why it has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last review, until another attempt begins: accepted work has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The last attempt number so far.
    #[serde(default)]
    pub attempts: u32,
    /// The cost so far.
    #[serde(default)]
    pub cost: Cost,
}

/// A page of tasks, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// The `cursor` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A part of a task's journal, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalPage {
    /// The events.
    #[schemars(with = "Vec<Envelope>")]
    pub events: Vec<Value>,
    /// The `after` of the next page; absent if there are no more at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// All reports of a task, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPage {
    /// The reports.
    #[schemars(with = "Vec<Report>")]
    pub reports: Vec<Value>,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRow {
    /// Its name.
    pub worker: String,
    /// The project whose tasks it takes; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether it is connected now.
    pub connected: bool,
    /// Whether it accepts no further tasks.
    #[serde(default)]
    pub draining: bool,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// Its labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Maximum number of concurrent tasks.
    pub slots: u32,
    /// The tasks that it holds.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// The sandbox of sessions and checks, as a single word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Its capabilities, if it announced them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<WorkerCapabilities>,
    /// Why, and until when, it is offered nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<WorkerQuarantine>,
    /// Number of leases that it lost.
    #[serde(default)]
    pub lost_leases: u64,
    /// Time of its last message.
    pub last_seen_at: Timestamp,
}

/// All known workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerPage {
    /// Ordered by name.
    pub workers: Vec<WorkerRow>,
}
