//! What a hub shows: tasks, journals, reports, workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::TaskState;
use crate::model::{
    Cost, Envelope, Outcome, Report, ReviewRecord, ReviewTarget, Task, TaskId, Timestamp,
};

/// One task as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    /// The task, and its run.
    pub task_id: TaskId,
    /// Where it stands.
    pub state: TaskState,
    /// How it ended, or stands, once its worker has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A person's last decision, until another attempt begins: work that a person accepted has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The work that a person has to decide on, while the task awaits review; in the answer for one task
    /// only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting_review: Option<ReviewTarget>,
    /// The first line of the description that says anything, shortened.
    #[serde(default)]
    pub description: String,
    /// The agent's name as asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The repository, or the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The last number that was given out to an attempt.
    #[serde(default)]
    pub attempts: u32,
    /// Attempts that may be charged.
    #[serde(default)]
    pub max_attempts: u32,
    /// Leases lost and infrastructure errors.
    #[serde(default)]
    pub infra_losses: u32,
    /// What it has cost so far: the sum of the ledger.
    #[serde(default)]
    pub cost: Cost,
    /// Tokens in and out so far.
    #[serde(default)]
    pub tokens: u64,
    /// The number of its last grant; 0 for none.
    #[serde(default)]
    pub lease_epoch: u64,
    /// Who holds it, or held it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// 0 to 9.
    #[serde(default)]
    pub priority: u8,
    /// Which workers may take it.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Whose it is.
    #[serde(default)]
    pub tenant: String,
    /// Why no worker can take it now, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplaceable: Option<String>,
    /// The task that it was made from again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TaskId>,
    /// Why it is to be stopped for good, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The last event of its journal.
    #[serde(default)]
    pub last_event_seq: u64,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When anything of it changed last.
    pub updated_at: Timestamp,
    /// The plan that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// Its subtasks, if it is a plan; in the answer for one task only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<SubtaskRow>,
    /// All that was asked for; in the answer for one task only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<Task>>,
}

/// A subtask of a plan as the plan shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskRow {
    /// What the others call it.
    pub id: String,
    /// The task that it is, or will be once it has begun.
    pub task_id: TaskId,
    /// Subtasks that must be verified before it begins.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Where it stands; absent until it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why it ended so, or why it has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last number that was given out to an attempt.
    #[serde(default)]
    pub attempts: u32,
    /// What it has cost so far.
    #[serde(default)]
    pub cost: Cost,
}

/// A page of tasks, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPage {
    /// These.
    pub tasks: Vec<TaskRow>,
    /// What to give as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A part of a task's journal, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalPage {
    /// These.
    #[schemars(with = "Vec<Envelope>")]
    pub events: Vec<Value>,
    /// What to give as `after` for the next page; absent when there is no more now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// All reports of a task, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPage {
    /// These.
    #[schemars(with = "Vec<Report>")]
    pub reports: Vec<Value>,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRow {
    /// Its name.
    pub worker: String,
    /// Whether it is connected now.
    pub connected: bool,
    /// Whether it takes nothing more.
    #[serde(default)]
    pub draining: bool,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// What it can do.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How many tasks it carries out at a time.
    pub slots: u32,
    /// What it holds.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// How sessions and checks are kept apart from the machine, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Leases that it lost.
    #[serde(default)]
    pub lost_leases: u64,
    /// When it was heard of last.
    pub last_seen_at: Timestamp,
}

/// All workers that were heard of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerPage {
    /// By name.
    pub workers: Vec<WorkerRow>,
}
