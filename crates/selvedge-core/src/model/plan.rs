//! A plan: a task that consists of subtasks. Its immutable specification, the results of subtasks, and its result.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{RunId, TaskId, TreeId};
use super::money::{Cost, CostSource, Usage};
use super::outcome::{Outcome, VerificationStatus};
use super::result::RunResult;
use super::review::ReviewRecord;
use super::spec::{Budget, RunSpec};

/// The specification of a plan. Immutable from before the first subtask, so that no agent can write the checks of later
/// subtasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSpec {
    /// The whole task.
    pub task_id: TaskId,
    /// The description of the whole task.
    pub description: String,
    /// The workspace of all subtasks, absolute and resolved.
    pub workspace: PathBuf,
    /// The subtasks in the order of the task: the first one that may begin does.
    pub subtasks: Vec<PlannedSubtask>,
    /// For best-of-N, where the parts are executions of one task, each in a copy of the workspace, and one is selected:
    /// the minimum fraction of them, 0 to 1, that must be verified. Absent for a plan of subtasks.
    #[serde(default, rename = "contest", skip_serializing_if = "Option::is_none")]
    pub best_of_floor: Option<f64>,
    /// Limits for all subtasks together.
    #[serde(default)]
    pub budget: Budget,
    /// The version of the program that created this.
    pub selvedge_version: String,
}

/// A subtask, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedSubtask {
    /// Its id within the plan.
    pub id: String,
    /// Subtasks that must be verified before it begins.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The specification of its run. Its budget is what the plan has left when it begins.
    pub spec: RunSpec,
}

/// How a subtask ended, and its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskEnd {
    /// How its run ended.
    pub outcome: Outcome,
    /// The reason, in one line.
    pub reason: String,
    /// Cost.
    pub cost: Cost,
    /// Its tokens.
    pub usage: Usage,
    /// Duration of sessions, verifications and judgements, in milliseconds.
    pub worked_ms: u64,
    /// The tree from which it began: restored before another subtask begins, if this one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_tree: Option<TreeId>,
    /// The tree after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Behaviour of the work in its checks, for comparison with other executions.
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
    /// `completed`, `failed`, `cancelled` or `interrupted`: the coarse status of the older contract.
    pub status: String,
    /// The outcome: verified if every subtask is, otherwise that of the first one that is not.
    pub outcome: Outcome,
    /// The reason, in one line.
    pub reason: String,
    /// Best-of-N: the selected execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Best-of-N: the fraction of verified executions, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Best-of-N: the person's decision that ended it, if any.
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
    /// The weakest source of all summands.
    pub cost_source: CostSource,
    /// Duration of sessions, verifications and judgements, in milliseconds.
    pub worked_ms: u64,
    /// Whether no agent changed any file: in the selected execution, or in all subtasks. `null` if unknown.
    #[serde(default)]
    pub unchanged: Option<bool>,
    /// The verdict in the terms of the older contract; `null` while the plan is interrupted.
    pub verification_status: Option<VerificationStatus>,
}

/// The state of one subtask of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskResult {
    /// Its id within the plan.
    pub id: String,
    /// The subtask as a task.
    pub task_id: TaskId,
    /// Subtasks that must be verified before it begins.
    pub depends_on: Vec<String>,
    /// Its run, once it has begun.
    pub run_id: Option<RunId>,
    /// How it ended; `null` while it has not.
    pub outcome: Option<Outcome>,
    /// The reason of its outcome, or why it has not begun.
    pub reason: String,
    /// Its own result, with its reports and their history.
    pub result: Option<RunResult>,
}
