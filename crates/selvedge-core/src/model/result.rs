//! The result object of a run, with the wire contract's field names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::excluded::ExcludedContent;
use super::ids::{RunId, TaskId};
use super::money::CostSource;
use super::outcome::{Outcome, VerificationStatus};
use super::report::Report;
use super::review::ReviewRecord;

/// The result of a run. Tokens and cost are cumulative over all attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The task.
    pub task_id: TaskId,
    /// The run.
    pub run_id: RunId,
    /// `completed`, `failed`, `cancelled` or `interrupted`: the coarse status of the older contract.
    pub status: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The reason, in one line.
    pub reason: String,
    /// Whether the agent changed no files since the run began. `null` if unknown (no snapshots, no verified attempt),
    /// and for shell tasks.
    #[serde(default)]
    pub unchanged: Option<bool>,
    /// Content that was too large for snapshots when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept: Option<Box<ExcludedContent>>,
    /// The deleted part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_unkept: Option<Box<ExcludedContent>>,
    /// The agent's last final text.
    pub output: String,
    /// The model that answered last.
    pub model_used: Option<String>,
    /// Tokens in, cached ones included.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// Dollars; `null` when nothing is known, a lower bound when `cost_source` is `unknown`.
    pub estimated_cost_usd: Option<f64>,
    /// The cost of the same tokens on the reference Claude model (local models only).
    pub equivalent_claude_cost_usd: Option<f64>,
    /// The weakest source of all summands.
    pub cost_source: CostSource,
    /// Milliseconds in agents' sessions.
    pub execution_ms: u64,
    /// The person's decision that ended the run; absent where the checks and judges did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The last report.
    pub verification_report: Option<Report>,
    /// All reports, in order.
    pub verification_history: Vec<Report>,
    /// The verdict in the terms of the older contract; `null` while a run is interrupted.
    pub verification_status: Option<VerificationStatus>,
    /// Attempts that were verified.
    pub verification_attempts: u32,
    /// Retries that were allowed.
    pub max_verification_retries: u32,
    /// Warnings about missing or incomplete results.
    #[serde(default)]
    pub warnings: Vec<String>,
}
