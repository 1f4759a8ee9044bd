//! The report of one verification.

use schemars::JsonSchema;
use selvedge_digest::{Failure, TestSummary};
use serde::{Deserialize, Serialize};

use super::crossed::{CrossedReport, CrossedResult};
use super::finding::{Finding, FindingSeverity};
use super::gate::GateReport;
use super::ids::{TaskId, TreeId};
use super::processes::ProcessCleanup;
use super::sandbox::SandboxReport;
use super::task::{Step, StepKind};
use super::tools::ToolFolderChanges;
use crate::format::{counted, first_names};

/// The status of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// Every check passed.
    Pass,
    /// At least one check failed, or a tier above the checks rejects the work.
    Fail,
    /// Verification was switched off.
    Skip,
    /// There was nothing to check.
    AutoPass,
    /// The time limit of the verification was reached.
    Timeout,
    /// At least one check could not be run, and none failed.
    Error,
}

/// The status of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It passes, with evidence that it was carried out.
    Pass,
    /// It fails.
    Fail,
    /// It reached its time limit: counts as failed.
    Timeout,
    /// It could not be run at all: infrastructure, not the agent's fault.
    Error,
    /// It was not run.
    Skip,
}

impl CheckStatus {
    /// The label in prompts and output.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Timeout => "TIMEOUT",
            Self::Error => "ERROR",
            Self::Skip => "SKIP",
        }
    }

    /// Whether it is reported to the agent to be fixed.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Timeout)
    }
}

/// The complete output on disk, and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputRef {
    /// File name, relative to the run's own directory.
    pub file: String,
    /// Bytes that were printed.
    pub bytes: u64,
    /// Bytes omitted because of the limit on disk; always reported.
    #[serde(default)]
    pub left_out: u64,
}

/// The evidence for a check's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The test runner's own report in a machine format.
    MachineReport,
    /// The human-readable output of the test runner.
    Text,
    /// Only the exit code.
    ExitCode,
    /// A plug-in's report.
    Plugin,
    /// Selvedge checked it directly: a file, a repository's state.
    Direct,
}

/// Marks in addition to a check's status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckMarks {
    /// It failed before the agent began, in the same way.
    pub preexisting: bool,
    /// It passed and failed on the same bytes.
    pub flaky: bool,
    /// It passed in an earlier attempt, or before the agent began.
    pub regression: bool,
    /// It failed before and passes now.
    pub fixed: bool,
    /// It exited with 0, but its evidence is weaker than before (tests newly skipped, no report, no closing
    /// summary): it does not pass.
    pub weakened: bool,
    /// It passes, but tests that were executed before are missing: a person decides.
    pub missing: bool,
}

/// The report of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The kind of check.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The target: the command line or the path.
    pub target: String,
    /// Its configured name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its status.
    pub status: CheckStatus,
    /// The reason, in one line: "exited with 1", "ran no test".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command's exit code, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Elapsed time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The end of its output (bounded; `output_ref` has all of it).
    #[serde(default)]
    pub output: String,
    /// The whole output on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<OutputRef>,
    /// The failures, as records.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// The failures, as the text for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Test counts and ids, if the tool reports them: of the first run that passed, else of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// `preexisting`, `flaky`, `regression`, `fixed`.
    #[serde(default, flatten)]
    pub marks: CheckMarks,
    /// The evidence for its verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The cleanup of its processes, if it started any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessCleanup>,
    /// Results of its reruns on the same bytes, after a failure: `true` is a pass. In a run of only the failed tests,
    /// one that fails again counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<bool>,
    /// Results of its reruns on the tree from which the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_reruns: Vec<bool>,
    /// Time of all its reruns in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reruns_ms: Option<u64>,
    /// Tests that failed before the agent began and pass now: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed_tests: Vec<String>,
    /// Tests that passed before the agent began, or after an earlier attempt, and fail now: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regressed_tests: Vec<String>,
    /// Tests that failed before the agent began and still do, with the same kind of message: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preexisting_tests: Vec<String>,
    /// Tests that were executed before the agent began and are missing: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_tests: Vec<String>,
    /// Modules of its test runner that were loaded from the workspace, and were not before the agent began:
    /// `unittest.case from src/fake.py`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_modules: Vec<String>,
    /// Known failures that are excused; a check without test ids by its label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_tests: Vec<String>,
    /// Known failures that are not excused, because the attempt changed their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched_tests: Vec<String>,
}

impl CheckReport {
    /// Maximum number of tests that each of its lists names.
    pub const MAX_NAMED_TESTS: usize = 50;

    /// Creates a report with a status and nothing else.
    pub fn new(step: &Step, status: CheckStatus) -> Self {
        Self {
            kind: step.kind,
            target: step.target.clone(),
            name: step.name.clone(),
            status,
            reason: None,
            exit_code: None,
            duration_ms: 0,
            output: String::new(),
            output_ref: None,
            failures: Vec::new(),
            digest: None,
            tests: None,
            marks: CheckMarks::default(),
            evidence: None,
            processes: None,
            reruns: Vec::new(),
            baseline_reruns: Vec::new(),
            reruns_ms: None,
            fixed_tests: Vec::new(),
            regressed_tests: Vec::new(),
            preexisting_tests: Vec::new(),
            missing_tests: Vec::new(),
            replaced_modules: Vec::new(),
            known_tests: Vec::new(),
            touched_tests: Vec::new(),
        }
    }

    /// Display name.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.target)
    }

    /// The failed tests if neither the digest names any of them, because some runners print only totals, nor the
    /// comparison with earlier results.
    pub fn unnamed_failures(&self) -> &[String] {
        let (Some(tests), Some(digest)) = (&self.tests, &self.digest) else {
            return &[];
        };
        // If all failures are old, they are not named.
        let is_compared = !self.regressed_tests.is_empty()
            || !self.marks.preexisting && !self.preexisting_tests.is_empty();
        let ids = &tests.failed_ids.ids;
        let is_named = |id: &String| digest.contains(last_part(id));
        if self.status.is_failure() && !is_compared && !ids.iter().any(is_named) {
            ids
        } else {
            &[]
        }
    }
}

/// The name of a test without its file, module and suite.
fn last_part(id: &str) -> &str {
    let separators = [" \u{203a} ", " > ", "::"];
    let parts = separators.iter().filter_map(|it| id.rsplit_once(it));
    let last = parts.map(|(_, last)| last).min_by_key(|it| it.len());
    last.or_else(|| id.rsplit([' ', '.', '/', '#']).next())
        .unwrap_or(id)
}

/// The reports of the checks before the agent began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// One for each step of the plan, in its order.
    pub checks: Vec<CheckReport>,
    /// How many of them were known from an earlier run on the same tree.
    #[serde(default)]
    pub cached: u32,
    /// Files of tests and installed tools that the checks wrote themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_files: Vec<String>,
    /// Elapsed time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// The guard's result for an attempt's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardStatus {
    /// Nothing that decides how the checks run was changed.
    Clean,
    /// There are flags for a person or a higher tier to assess.
    Flagged,
    /// The checks were weakened; protected files were reverted before they ran.
    Tampered,
}

/// The report of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// The overall status.
    pub status: GuardStatus,
    /// The findings, in the order of the files.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl GuardReport {
    /// Summarizes findings.
    pub fn of(findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.strength).max();
        let status = match worst {
            None => GuardStatus::Clean,
            Some(FindingSeverity::Weak | FindingSeverity::Strong) => GuardStatus::Flagged,
            Some(FindingSeverity::Violation) => GuardStatus::Tampered,
        };
        Self { status, findings }
    }

    /// The findings that weakened the checks.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        self.findings_of_severity(FindingSeverity::Violation)
    }

    /// The findings that a person has to review before the work counts.
    pub fn strong_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings_of_severity(FindingSeverity::Strong)
    }

    fn findings_of_severity(&self, strength: FindingSeverity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.strength == strength)
    }
}

/// Counts over the checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportSummary {
    /// All checks.
    pub total: u32,
    /// Passed checks.
    pub passed: u32,
    /// Failed checks, including time-outs.
    pub failed: u32,
    /// Checks that could not be run.
    pub errors: u32,
    /// Checks that were not run.
    pub skipped: u32,
}

/// The report of one verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The task.
    pub task_id: TaskId,
    /// The attempt that it judges.
    #[serde(rename = "run_number")]
    pub attempt_number: u32,
    /// Its status.
    pub status: ReportStatus,
    /// Counts.
    pub summary: ReportSummary,
    /// Every check with its evidence, in the order of the plan.
    pub checks: Vec<CheckReport>,
    /// The reports of the tiers above the checks that were asked.
    #[serde(default)]
    pub gates: Vec<GateReport>,
    /// The guard's report, if there are snapshots to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardReport>,
    /// The same checks with the original tests, if the attempt changed anything on the test side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossed: Option<Box<CrossedReport>>,
    /// The attempt's changes in tool folders, which the checks use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_tools: Option<Box<ToolFolderChanges>>,
    /// Files of tests and installed tools that were written while the checks ran, and were not before the agent began:
    /// the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_files: Vec<String>,
    /// The sandbox of the checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxReport>,
    /// The judged tree, if there was a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// Elapsed time in milliseconds.
    pub duration_ms: u64,
    /// The part of it in commands of the setup, which install dependencies and reset state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ms: Option<u64>,
}

impl Report {
    /// Adds the result of a tier above the checks. If the tier rejects the work, the report fails, whatever the result
    /// of the checks.
    pub fn add_gate(&mut self, gate: GateReport) {
        if gate.passed == Some(false) {
            self.status = ReportStatus::Fail;
        }
        self.gates.push(gate);
    }

    /// The tier above the checks that rejects work whose checks passed, if one does.
    pub fn rejecting_gate(&self) -> Option<&GateReport> {
        self.gates.iter().find(|gate| gate.passed == Some(false))
    }

    /// The tier above the checks that was asked and did not pass, if any.
    pub fn blocking_gate(&self) -> Option<&GateReport> {
        self.gates.iter().find(|gate| gate.passed != Some(true))
    }

    /// The run with the original tests, if failures from before the attempt remain in it.
    pub fn still_failing(&self) -> Option<&CrossedReport> {
        let crossed = self.crossed.as_deref();
        crossed.filter(|crossed| crossed.result == CrossedResult::StillFailing)
    }

    /// The checks that fail: with the attempt's tests, or with the original ones.
    pub fn failing_checks(&self) -> impl Iterator<Item = &CheckReport> {
        let crossed = self
            .still_failing()
            .into_iter()
            .flat_map(|crossed| &crossed.checks);
        self.checks
            .iter()
            .chain(crossed)
            .filter(|check| check.status.is_failure())
    }

    /// The run with the original tests, if they do not fit the work and no judge has confirmed that the task asks for
    /// that.
    pub fn unconfirmed_tests(&self) -> Option<&CrossedReport> {
        let is_confirmed = !self.gates.is_empty() && self.blocking_gate().is_none();
        let crossed = self.crossed.as_deref();
        crossed.filter(|crossed| !is_confirmed && crossed.result != CrossedResult::Passed)
    }

    /// Why a person has to review the work before a pass counts, in one line: the result with the original tests, or
    /// [`Self::suspicion`].
    pub fn review_reason(&self) -> Option<String> {
        match self.unconfirmed_tests() {
            Some(crossed) => Some(crossed.reason.clone()),
            None => self.suspicion(),
        }
    }

    /// Whether the checks passed with a file's original in its place.
    fn passes_without(&self, path: &str) -> bool {
        let crossed = self.crossed.as_deref();
        crossed.is_some_and(|crossed| {
            crossed.result == CrossedResult::Passed
                && crossed.unused_files.iter().any(|file| file == path)
        })
    }

    /// The reason for a review that no judge can dispel, in one line: files that were written while the checks ran,
    /// changed tools that they run with, flags of the guard, a replaced runner, or tests that are no longer executed.
    pub fn suspicion(&self) -> Option<String> {
        if !self.written_files.is_empty() {
            return Some(format!(
                "{} of tests or tools changed while the checks ran: {}",
                counted(self.written_files.len() as u64, "file"),
                first_names(&self.written_files)
            ));
        }
        if let Some(changes) = &self.changed_tools {
            return Some(changes.describe());
        }
        let strong = self
            .guard
            .iter()
            .flat_map(GuardReport::strong_findings)
            .find(|finding| !self.passes_without(&finding.path));
        if let Some(finding) = strong {
            return Some(format!("in {}: {}", finding.path, finding.what));
        }
        // Files added among the tests are absent from the run with the original ones.
        let decisive = self
            .crossed
            .as_deref()
            .map(|it| &it.checks)
            .filter(|it| !it.is_empty())
            .unwrap_or(&self.checks);
        let replaced = decisive.iter().find(|it| !it.replaced_modules.is_empty());
        if let Some(check) = replaced {
            let modules = first_names(&check.replaced_modules);
            return Some(format!(
                "in `{}` modules of the test runner, or functions that tests use, were replaced from the workspace: {modules}",
                check.label()
            ));
        }
        let check = self.checks.iter().find(|check| check.marks.missing)?;
        let reason = check.reason.as_deref().unwrap_or("tests are missing");
        let named = match check.missing_tests.as_slice() {
            [] => String::new(),
            tests => format!(": {}", first_names(tests)),
        };
        Some(format!("in `{}` {reason}{named}", check.label()))
    }
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
