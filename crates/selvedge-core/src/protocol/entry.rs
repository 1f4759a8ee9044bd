//! Entries: all that a worker writes about a task, in one ordered stream for each grant.
//!
//! An entry is applied whole or not at all, in one transaction, and only as the next of its stream. What
//! was applied before is acknowledged again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lease::LeaseToken;
use super::progress::ProgressEvent;
use crate::model::{
    Cost, CostSource, Envelope, Outcome, Report, ReviewRecord, RunId, RunResult, Usage,
    VerificationStatus,
};

/// What every entry has in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryHeader {
    /// Under which grant it is written.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// 1, 2, 3 … within the grant, without gaps.
    pub seq: u64,
    /// What happened, as it goes into the task's journal.
    /// Kept as it came: a hub of an earlier release passes on what it does not know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Envelope>")]
    pub events: Vec<Value>,
    /// What calls cost that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostEntry>,
    /// Files whose bytes are among the hub's blobs by now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// What is going on, for people who watch; never the ground of anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activity: Vec<ProgressEvent>,
    /// How many activities were dropped since the entry before.
    #[serde(default)]
    pub dropped: u64,
}

impl EntryHeader {
    /// An entry that says nothing yet.
    pub const fn new(lease: LeaseToken, seq: u64) -> Self {
        Self {
            lease,
            seq,
            events: Vec::new(),
            costs: Vec::new(),
            files: Vec::new(),
            activity: Vec::new(),
            dropped: 0,
        }
    }
}

/// One line of the ledger of costs. Written twice it counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostEntry {
    /// The attempt.
    pub run_number: u32,
    /// Which call of the attempt: `session`, `judge-2-17`, ….
    pub call_id: String,
    /// What it cost.
    pub cost: Cost,
    /// Its tokens.
    #[serde(default)]
    pub usage: Usage,
    /// The model, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl CostEntry {
    /// The call that stands for an attempt that was cut off.
    const LOST: &str = "lost";

    /// The line of an attempt that was cut off: what it cost is not known.
    pub fn lost(run_number: u32) -> Self {
        Self {
            run_number,
            call_id: Self::LOST.to_owned(),
            cost: Cost::UNKNOWN,
            usage: Usage::default(),
            model: None,
        }
    }

    /// Whether it is that line.
    pub fn is_lost(&self) -> bool {
        self.call_id == Self::LOST
    }
}

/// A file of a task, kept among the hub's blobs under the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// As reports name it (`attempt-1/check-2.out`), or `attempt-1.patch`,
    /// `attempt-2-since-start.patch`, `result.patch`, `tree/NAME`.
    pub name: String,
    /// SHA-256, in hexadecimal digits.
    pub hash: String,
    /// Bytes.
    pub size: u64,
}

/// How a task ended, or stands, as its last worker says it: the wire contract's result without the ids
/// that its message bears already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// `completed`, `failed`, `needs_review`, `cancelled` or `interrupted`.
    pub status: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in one line.
    #[serde(default)]
    pub reason: String,
    /// Whether the agent changed no files; absent or `null` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// The last session's text.
    #[serde(default)]
    pub output: String,
    /// The last session's model.
    #[serde(default)]
    pub model_used: Option<String>,
    /// Over all attempts and judges.
    #[serde(default)]
    pub tokens_in: u64,
    /// Over all attempts and judges.
    #[serde(default)]
    pub tokens_out: u64,
    /// Over all attempts and judges; absent when nothing is known.
    #[serde(default)]
    pub estimated_cost_usd: Option<f64>,
    /// What it would have cost with Claude.
    #[serde(default)]
    pub equivalent_claude_cost_usd: Option<f64>,
    /// How far the cost can be trusted.
    #[serde(default = "unknown")]
    pub cost_source: CostSource,
    /// In sessions, in milliseconds.
    #[serde(default)]
    pub execution_ms: u64,
    /// The person's decision that ended the task; absent where the checks and judges did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The last report. A lone one is the whole history.
    #[serde(default)]
    #[schemars(with = "Option<Report>")]
    pub verification_report: Option<Value>,
    /// All reports.
    #[serde(default)]
    #[schemars(with = "Vec<Report>")]
    pub verification_history: Vec<Value>,
    /// The wire contract's word for it.
    #[serde(default)]
    pub verification_status: Option<VerificationStatus>,
    /// Attempts that were charged.
    #[serde(default)]
    pub verification_attempts: u32,
    /// Attempts beyond the first that were allowed.
    #[serde(default)]
    pub max_verification_retries: u32,
    /// What could not be done or known.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The branch that the result was pushed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

const fn unknown() -> CostSource {
    CostSource::Unknown
}

fn to_raw_value(report: &Report) -> Value {
    // A report is made of maps with names for keys, and of numbers: it always has a JSON form.
    serde_json::to_value(report).unwrap_or_default()
}

impl From<RunResult> for TaskResult {
    fn from(result: RunResult) -> Self {
        Self {
            run_id: Some(result.run_id),
            status: result.status,
            outcome: result.outcome,
            reason: result.reason,
            unchanged: result.unchanged,
            output: result.output,
            model_used: result.model_used,
            tokens_in: result.tokens_in,
            tokens_out: result.tokens_out,
            estimated_cost_usd: result.estimated_cost_usd,
            equivalent_claude_cost_usd: result.equivalent_claude_cost_usd,
            cost_source: result.cost_source,
            execution_ms: result.execution_ms,
            review: result.review,
            verification_report: result.verification_report.as_ref().map(to_raw_value),
            verification_history: result
                .verification_history
                .iter()
                .map(to_raw_value)
                .collect(),
            verification_status: result.verification_status,
            verification_attempts: result.verification_attempts,
            max_verification_retries: result.max_verification_retries,
            warnings: result.warnings,
            branch: None,
            commit: None,
        }
    }
}

impl TaskResult {
    /// A result of something that never became a run: it was refused, or could not be set up.
    pub fn without_run(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            run_id: None,
            status: crate::machine::status_word(outcome).to_owned(),
            outcome,
            reason: reason.into(),
            unchanged: None,
            output: String::new(),
            model_used: None,
            tokens_in: 0,
            tokens_out: 0,
            estimated_cost_usd: Some(0.0),
            equivalent_claude_cost_usd: None,
            cost_source: CostSource::Reported,
            execution_ms: 0,
            review: None,
            verification_report: None,
            verification_history: Vec::new(),
            verification_status: outcome.verification_status(false),
            verification_attempts: 0,
            max_verification_retries: 0,
            warnings: Vec::new(),
            branch: None,
            commit: None,
        }
    }

    /// The same where attempts were begun before, of which nobody here knows what they cost.
    #[must_use]
    pub fn with_unknown_cost(self) -> Self {
        Self {
            estimated_cost_usd: None,
            cost_source: CostSource::Unknown,
            ..self
        }
    }
}
