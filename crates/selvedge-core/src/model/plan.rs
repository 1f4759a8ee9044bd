//! A plan: a task that is made of subtasks. What of it is frozen, how a subtask ended, and the result.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{RunId, TaskId, TreeId};
use super::money::{Cost, CostSource, Usage};
use super::outcome::{Outcome, VerificationStatus};
use super::result::RunResult;
use super::review::ReviewRecord;
use super::spec::{Budget, RunSpec};

/// Everything that a plan depends on. Frozen before its first subtask begins, so that no agent can
/// write the checks of the subtasks after its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSpec {
    /// The whole task.
    pub task_id: TaskId,
    /// What the whole is about.
    pub description: String,
    /// The workspace of all subtasks, absolute and resolved.
    pub workspace: PathBuf,
    /// In the order of the task: of those that may begin, the first does.
    pub subtasks: Vec<PlannedSubtask>,
    /// Where its parts are executions of one task, each in a copy of the workspace, of which one stays: the
    /// least share of them, 0 to 1, that must be verified. Absent for a plan of subtasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contest: Option<f64>,
    /// Caps of all subtasks together.
    #[serde(default)]
    pub budget: Budget,
    /// The program that froze this.
    pub selvedge_version: String,
}

/// A subtask, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedSubtask {
    /// What the others call it.
    pub id: String,
    /// Subtasks that must be verified before it begins.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The run that it will be. Its budget is what the plan has left by then.
    pub spec: RunSpec,
}

/// How a subtask ended, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskEnd {
    /// How its run ended.
    pub outcome: Outcome,
    /// Why, in one line.
    pub reason: String,
    /// What it cost.
    pub cost: Cost,
    /// Its tokens.
    pub usage: Usage,
    /// Milliseconds in sessions, verification runs and judgements.
    pub worked_ms: u64,
    /// The tree that it began from: put back before another subtask begins, if this one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_tree: Option<TreeId>,
    /// The tree that it left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// What its checks showed of the work, to compare it with another execution's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behaviour: Option<String>,
}

/// How a plan ended. Tokens and cost are the sums over all subtasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanResult {
    /// The task.
    pub task_id: TaskId,
    /// The plan's run.
    pub run_id: RunId,
    /// `completed`, `failed`, `cancelled` or `interrupted`: the older contract's coarse word.
    pub status: String,
    /// How it ended: verified when every subtask is, else as the first that was not.
    pub outcome: Outcome,
    /// Why, in one line.
    pub reason: String,
    /// Of a contest, the execution whose work stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Of a contest, the share of the executions that are verified, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Of a contest, the person's decision that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// All subtasks, in the order of the task.
    pub subtasks: Vec<SubtaskResult>,
    /// Tokens in, cached ones included.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// Dollars; `null` when nothing is known, a lower bound when `cost_source` is `unknown`.
    pub estimated_cost_usd: Option<f64>,
    /// The weakest source of all that was summed.
    pub cost_source: CostSource,
    /// Milliseconds in sessions, verification runs and judgements.
    pub worked_ms: u64,
    /// Whether no agent changed any file: of the chosen execution, or in every subtask. `null` where that is not
    /// known.
    #[serde(default)]
    pub unchanged: Option<bool>,
    /// The verdict in the older contract's words; `null` while the plan is interrupted.
    pub verification_status: Option<VerificationStatus>,
}

/// How one subtask of a plan stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskResult {
    /// What the others call it.
    pub id: String,
    /// The subtask as a task.
    pub task_id: TaskId,
    /// Subtasks that must be verified before it begins.
    pub depends_on: Vec<String>,
    /// Its run, once it has begun.
    pub run_id: Option<RunId>,
    /// How it ended; `null` while it has not.
    pub outcome: Option<Outcome>,
    /// Why it ended so, or why it has not begun.
    pub reason: String,
    /// Its own result, with its reports and their history.
    pub result: Option<RunResult>,
}
