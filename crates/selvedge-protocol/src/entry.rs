//! Entries: everything that a worker writes about a task, in one ordered stream per assignment.
//!
//! An entry is applied as a whole or not at all, in one transaction, and only as the next one of its stream. An entry
//! that was applied before is acknowledged again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lease_token::LeaseToken;
use super::progress::ProgressEvent;
use selvedge_core::model::{
    AttemptEnd, Cost, CostSource, Envelope, Outcome, Report, ReviewRecord, RunId, RunResult,
    TreeId, Usage, VerificationStatus,
};

/// An entry of a worker's stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEntry {
    /// The common part.
    pub header: EntryHeader,
    /// The effect that it has besides its header.
    pub kind: EntryKind,
}

/// The effect of an entry besides its header.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    /// No further effect.
    Progress,
    /// An attempt begins.
    BeginAttempt(AttemptStart),
    /// An attempt has its final report.
    SubmitReport(AttemptReport),
    /// An attempt ended without a report.
    CloseAttempt(AttemptClosing),
    /// The task ended, or awaits review.
    Complete(TaskCompletion),
    /// The worker releases the task.
    Release(TaskRelease),
}

impl EntryKind {
    /// The attempt that it closes.
    pub const fn closed_attempt(&self) -> Option<u32> {
        match self {
            Self::SubmitReport(report) => Some(report.attempt_number),
            Self::CloseAttempt(closing) => Some(closing.attempt_number),
            _ => None,
        }
    }
}

/// The beginning of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptStart {
    /// The attempt.
    #[serde(rename = "run_number")]
    pub attempt_number: u32,
    /// The tree that it begins from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_tree: Option<TreeId>,
}

/// The final report of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptReport {
    /// The attempt.
    #[serde(rename = "run_number")]
    pub attempt_number: u32,
    /// The complete report, including the higher tiers. Stored unchanged.
    #[schemars(with = "Report")]
    pub report: Value,
}

impl AttemptReport {
    /// Creates it from an attempt's report.
    pub fn new(attempt_number: u32, report: &Report) -> Self {
        Self {
            attempt_number,
            report: to_raw_value(report),
        }
    }
}

/// The end of an attempt without a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptClosing {
    /// The attempt.
    #[serde(rename = "run_number")]
    pub attempt_number: u32,
    /// How it ended.
    pub closing: AttemptEnd,
}

/// The end of a task, or of its work until a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCompletion {
    /// The same id whenever this completion is sent again.
    pub completion_id: String,
    /// The result.
    #[serde(flatten)]
    pub result: Box<TaskResult>,
}

/// The release of a task that another worker can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRelease {
    /// The reason, as text.
    pub reason: String,
    /// Whether it counts against the task's limit of infrastructure failures.
    #[serde(default)]
    pub charged: bool,
    /// Whether this worker cannot run the task, for example because its agent is not installed: it goes to other workers
    /// at once and is not charged, regardless of `charged`, which is for hubs that do not know this field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
}

/// The common part of all entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryHeader {
    /// The lease under which it is written.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// 1, 2, 3 … within the assignment, without gaps.
    pub seq: u64,
    /// Events for the task's journal. Stored unchanged: a hub of an earlier release passes on unknown events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Envelope>")]
    pub events: Vec<Value>,
    /// The cost of completed calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostEntry>,
    /// Files whose content has been uploaded to the hub's blobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// Current activity, for display only; nothing is derived from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activity: Vec<ProgressEvent>,
    /// Number of activities that were dropped since the previous entry.
    #[serde(default)]
    pub dropped: u64,
}

impl EntryHeader {
    /// Creates an empty entry.
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

/// One record of the cost ledger. A duplicate counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostEntry {
    /// The attempt.
    #[serde(rename = "run_number")]
    pub attempt_number: u32,
    /// Id of the call within the attempt: `session`, `judge-2-17`, ….
    pub call_id: String,
    /// The cost.
    pub cost: Cost,
    /// Its tokens.
    #[serde(default)]
    pub usage: Usage,
    /// The model, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl CostEntry {
    /// The call id that represents an interrupted attempt.
    const LOST: &str = "lost";

    /// The record of an interrupted attempt: its cost is unknown.
    pub fn lost(attempt_number: u32) -> Self {
        Self {
            attempt_number,
            call_id: Self::LOST.to_owned(),
            cost: Cost::UNKNOWN,
            usage: Usage::default(),
            model: None,
        }
    }

    /// Whether it is the record of an interrupted attempt.
    pub fn is_lost(&self) -> bool {
        self.call_id == Self::LOST
    }
}

/// A file of a task, stored in the hub's blobs by the hash of its content.
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

/// The outcome or state of a task, as its last worker reports it: the wire contract's result without the ids that the
/// message has already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// `completed`, `failed`, `needs_review`, `cancelled` or `interrupted`.
    pub status: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The reason, in one line.
    #[serde(default)]
    pub reason: String,
    /// Whether the agent changed no files; absent or `null` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// The final text of the last session.
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
    /// Over all attempts and judges; absent if unknown.
    #[serde(default)]
    pub estimated_cost_usd: Option<f64>,
    /// The cost of the same tokens with Claude.
    #[serde(default)]
    pub equivalent_claude_cost_usd: Option<f64>,
    /// The reliability of the cost.
    #[serde(default = "unknown")]
    pub cost_source: CostSource,
    /// Duration of sessions, in milliseconds.
    #[serde(default)]
    pub execution_ms: u64,
    /// The person's decision that ended the task; absent if the checks and judges ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// The last report. If it is the only one, there is no separate history.
    #[serde(default)]
    #[schemars(with = "Option<Report>")]
    pub verification_report: Option<Value>,
    /// All reports.
    #[serde(default)]
    #[schemars(with = "Vec<Report>")]
    pub verification_history: Vec<Value>,
    /// The verdict in the terms of the wire contract.
    #[serde(default)]
    pub verification_status: Option<VerificationStatus>,
    /// Attempts that count against the retry limit.
    #[serde(default)]
    pub verification_attempts: u32,
    /// Maximum number of attempts after the first.
    #[serde(default)]
    pub max_verification_retries: u32,
    /// Warnings about missing or incomplete results.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The branch to which the result was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit on that branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

const fn unknown() -> CostSource {
    CostSource::Unknown
}

fn to_raw_value(report: &Report) -> Value {
    // A report consists of maps with string keys and of numbers, so it always has a JSON form.
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
    /// The result of a task that never became a run: it was rejected, or could not be set up.
    pub fn without_run(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            run_id: None,
            status: outcome.status_word().to_owned(),
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

    /// The same result, if earlier attempts have a cost that is unknown here.
    #[must_use]
    pub fn with_unknown_cost(self) -> Self {
        Self {
            estimated_cost_usd: None,
            cost_source: CostSource::Unknown,
            ..self
        }
    }
}
