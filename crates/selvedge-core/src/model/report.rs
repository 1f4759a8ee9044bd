//! All that one verification run found.

use schemars::JsonSchema;
use selvedge_digest::{Failure, TestSummary};
use serde::{Deserialize, Serialize};

use super::crossed::{CrossedReport, CrossedResult};
use super::gate::GateReport;
use super::ids::{TaskId, TreeId};
use super::processes::ProcessCleanup;
use super::sandbox::SandboxReport;
use super::task::{Step, StepKind};
use super::tools::ToolFolderChanges;
use crate::format::counted;
use crate::guard::{Finding, FindingSeverity};

/// What the report as a whole says.
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

/// What a check's verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The test runner's own report in a machine format.
    MachineReport,
    /// What the test runner printed for people.
    Text,
    /// Nothing but the exit code.
    ExitCode,
    /// A plug-in's report.
    Plugin,
    /// Selvedge looked itself: a file, a repository's state.
    Direct,
}

/// Marks beside a check's status.
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
    /// It passes, but tests that were executed before are gone: a person decides.
    pub missing: bool,
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
    /// Test counts and ids, where the tool told them: of the first run that passed, else of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// `preexisting`, `flaky`, `regression`, `fixed`.
    #[serde(default, flatten)]
    pub marks: CheckMarks,
    /// What its verdict rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What became of its processes, where it started any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessCleanup>,
    /// Whether it passed when it was run again on the same bytes, having failed. A run of failed tests alone counts if
    /// one of them fails again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<bool>,
    /// Whether it passed when it was run again on the tree that the run began from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_reruns: Vec<bool>,
    /// Tests that failed before the agent began and pass now: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed_tests: Vec<String>,
    /// Tests that passed before the agent began, or after an earlier attempt, and fail now: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regressed_tests: Vec<String>,
    /// Tests that failed before the agent began and still do, with the same kind of message: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preexisting_tests: Vec<String>,
    /// Tests that were executed before the agent began and are gone: the first of them.
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
    /// A step with a status, and nothing else known.
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
            fixed_tests: Vec::new(),
            regressed_tests: Vec::new(),
            preexisting_tests: Vec::new(),
            missing_tests: Vec::new(),
            replaced_modules: Vec::new(),
            known_tests: Vec::new(),
            touched_tests: Vec::new(),
        }
    }

    /// What people call it.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.target)
    }
}

/// The checks as they stood before the agent began.
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
    /// Wall time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// What the guard says of an attempt's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardStatus {
    /// Nothing that decides how the checks run was touched.
    Clean,
    /// Something for a person or a higher tier to weigh.
    Flagged,
    /// The checks were weakened; what was protected was put back before they ran.
    Tampered,
}

/// What the guard noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// As a whole.
    pub status: GuardStatus,
    /// One by one, in the order of the files.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl GuardReport {
    /// Sums up findings.
    pub fn of(findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.strength).max();
        let status = match worst {
            None => GuardStatus::Clean,
            Some(FindingSeverity::Weak | FindingSeverity::Strong) => GuardStatus::Flagged,
            Some(FindingSeverity::Violation) => GuardStatus::Tampered,
        };
        Self { status, findings }
    }

    /// What weakened the checks.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        self.findings_of_severity(FindingSeverity::Violation)
    }

    /// What a person has to look at before the work counts.
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
    /// The tiers above the checks, as far as they were asked.
    #[serde(default)]
    pub gates: Vec<GateReport>,
    /// What the guard noticed, where there are snapshots to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardReport>,
    /// The same checks with the original tests, where the attempt changed anything on the test side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossed: Option<Box<CrossedReport>>,
    /// What the attempt changed in folders of installed tools, which the checks run with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_tools: Option<Box<ToolFolderChanges>>,
    /// Files of tests and installed tools that were written while the checks ran, and were not before the agent began:
    /// the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_files: Vec<String>,
    /// What stood around the checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxReport>,
    /// The tree that was judged, where there was a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
}

impl Report {
    /// Adds the result of a tier above the checks. If the tier rejects the work, the report fails, whatever the
    /// checks found.
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

    /// The tier above the checks that does not pass it, if one was asked and does not.
    pub fn blocking_gate(&self) -> Option<&GateReport> {
        self.gates.iter().find(|gate| gate.passed != Some(true))
    }

    /// The run with the original tests, if what failed before the attempt still fails in it.
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

    /// Why a person has to look before a pass counts, in one line: what the checks found with the original tests,
    /// or what [`Self::suspicion`] says.
    pub fn review_reason(&self) -> Option<String> {
        match self.unconfirmed_tests() {
            Some(crossed) => Some(crossed.reason.clone()),
            None => self.suspicion(),
        }
    }

    /// What no judge can confirm, in one line: files that were written while the checks ran, changed tools that they
    /// run with, what the guard flagged, a replaced runner, or tests that are no longer executed.
    pub fn suspicion(&self) -> Option<String> {
        if !self.written_files.is_empty() {
            return Some(format!(
                "{} of tests or tools changed while the checks ran: {}",
                counted(self.written_files.len() as u64, "file"),
                self.written_files.join(", ")
            ));
        }
        if let Some(changes) = &self.changed_tools {
            return Some(changes.describe());
        }
        let strong = self
            .guard
            .iter()
            .flat_map(GuardReport::strong_findings)
            .next();
        if let Some(finding) = strong {
            return Some(format!("in {}: {}", finding.path, finding.what));
        }
        // What was planted among the tests is absent from the run with the original ones.
        let decisive = self
            .crossed
            .as_deref()
            .map(|it| &it.checks)
            .filter(|it| !it.is_empty())
            .unwrap_or(&self.checks);
        let replaced = decisive.iter().find(|it| !it.replaced_modules.is_empty());
        if let Some(check) = replaced {
            let modules = check.replaced_modules.join(", ");
            return Some(format!(
                "in `{}` the test runner loaded modules from the workspace: {modules}",
                check.label()
            ));
        }
        let check = self.checks.iter().find(|check| check.marks.missing)?;
        let reason = check.reason.as_deref().unwrap_or("tests are gone");
        let named = match check.missing_tests.as_slice() {
            [] => String::new(),
            tests => format!(": {}", tests.join(", ")),
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
