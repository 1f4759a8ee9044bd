//! All that one verification run found.

use schemars::JsonSchema;
use selvedge_digest::{Failure, TestSummary};
use serde::{Deserialize, Serialize};

use super::ids::{TaskId, TreeId};
use super::task::StepKind;

/// What the report as a whole says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// Every check passed.
    Pass,
    /// At least one check failed.
    Fail,
    /// Verification was switched off.
    Skip,
    /// There was nothing to check.
    AutoPass,
    /// The verification run's own time budget ran out.
    Timeout,
    /// At least one check could not be run, and none failed.
    Error,
}

/// What one check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It holds, and there is evidence that it was looked at.
    Pass,
    /// It does not hold.
    Fail,
    /// It ran out of time: counts as failed.
    Timeout,
    /// It could not be run at all: infrastructure, not the agent's fault.
    Error,
    /// It was not run.
    Skip,
}

impl CheckStatus {
    /// As prompts and people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Timeout => "TIMEOUT",
            Self::Error => "ERROR",
            Self::Skip => "SKIP",
        }
    }

    /// Whether it goes back to the agent as something to mend.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Timeout)
    }
}

/// Where the whole of an output is kept, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputRef {
    /// File name, relative to the run's own directory.
    pub file: String,
    /// Bytes that were printed.
    pub bytes: u64,
    /// Bytes that the cap on disk left out; said, never silent.
    #[serde(default)]
    pub left_out: u64,
}

/// Marks beside a check's status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckMarks {
    /// It failed before the agent began, in the same way.
    pub preexisting: bool,
    /// It passed and failed on the same bytes.
    pub flaky: bool,
    /// It passed in an earlier attempt.
    pub regression: bool,
    /// It failed before and passes now.
    pub fixed: bool,
}

/// One check's evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// What kind of check.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// What it looked at: the command line, the path.
    pub target: String,
    /// The name a person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says.
    pub status: CheckStatus,
    /// Why, in one line: "exited with 1", "ran no test".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command's exit code, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Wall time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The end of its output (bounded; the whole is in `output_ref`).
    #[serde(default)]
    pub output: String,
    /// The whole output on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<OutputRef>,
    /// What failed, as records.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// What failed, as the text that the next attempt gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Test counts and ids, where the tool told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// `preexisting`, `flaky`, `regression`, `fixed`.
    #[serde(default, flatten)]
    pub marks: CheckMarks,
}

/// One tier's verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// 1 deterministic, 2 an independent model, 3 a vote.
    pub tier: u8,
    /// Whether it passed; absent where the gate could not decide and a person must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// 0 to 1, where the gate states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the agent is told when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// Counts over the checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportSummary {
    /// All checks.
    pub total: u32,
    /// Those that hold.
    pub passed: u32,
    /// Those that do not, time-outs included.
    pub failed: u32,
    /// Those that could not be run.
    pub errors: u32,
    /// Those that were not run.
    pub skipped: u32,
}

/// All that one verification run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The task.
    pub task_id: TaskId,
    /// The attempt that it judges.
    pub run_number: u32,
    /// What it says as a whole.
    pub status: ReportStatus,
    /// Counts.
    pub summary: ReportSummary,
    /// Every check with its evidence, in the order of the plan.
    pub checks: Vec<CheckReport>,
    /// The tiers that were asked.
    #[serde(default)]
    pub gates: Vec<GateReport>,
    /// The tree that was judged, where there was a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
}

impl ReportSummary {
    /// Counts a list of checks.
    pub fn of(checks: &[CheckReport]) -> Self {
        let mut summary = Self::default();
        for check in checks {
            summary.total += 1;
            match check.status {
                CheckStatus::Pass => summary.passed += 1,
                CheckStatus::Fail | CheckStatus::Timeout => summary.failed += 1,
                CheckStatus::Error => summary.errors += 1,
                CheckStatus::Skip => summary.skipped += 1,
            }
        }
        summary
    }
}
