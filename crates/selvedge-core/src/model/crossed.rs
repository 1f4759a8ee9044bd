//! The second run of the checks: the work of an attempt with the tests that were there before it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::CheckReport;

/// What the checks found when the original tests were laid over the attempt's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrossedResult {
    /// They pass: the changes of the tests make no difference to the verdict.
    Passed,
    /// What failed before the attempt fails again: the attempt failed.
    StillFailing,
    /// Other tests fail, or fewer run: the checks cannot decide, and a person does.
    Undecided,
    /// The original tests do not build, or cannot be collected, on the attempt's work: a person decides.
    TestsDoNotFit,
    /// They pass only with the attempt's own versions of files that tests and sources share: a person decides.
    SharedFiles,
}

/// The run of the checks with the original tests. Present only if the attempt changed anything on the test side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossedReport {
    /// What it means for the attempt.
    pub result: CrossedResult,
    /// Why, in one line.
    pub reason: String,
    /// How many files of the test side the attempt changed, and so were replaced by their originals.
    #[serde(default)]
    pub changed: u64,
    /// The first of these files, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// Files that tests and sources share, and that decide the result: the checks pass with the attempt's versions
    /// only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
    /// Original files of tests that do not build or cannot be collected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfit_files: Vec<String>,
    /// Changed files of the test side that the task expects to change: the first of them. They are as the attempt made
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_files: Vec<String>,
    /// Tests that failed before the attempt and fail with the original tests: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_failing: Vec<String>,
    /// Other original tests that fail, or that were not executed: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided_tests: Vec<String>,
    /// The checks as they were found, in the order of the plan.
    pub checks: Vec<CheckReport>,
}

impl CrossedReport {
    /// Files and tests that are listed; the others are counted.
    pub const MAX_LISTED: usize = 50;
}
