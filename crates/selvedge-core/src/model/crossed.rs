//! The second run of the checks: an attempt's work with the tests from before it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::CheckReport;

/// The result of the checks with the original tests and the attempt's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrossedResult {
    /// They pass: the changes of the tests do not affect the verdict.
    Passed,
    /// Failures from before the attempt remain: the attempt failed.
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
    /// The result.
    pub result: CrossedResult,
    /// The reason, in one line.
    pub reason: String,
    /// Number of files of the test side that the attempt changed, which were replaced by their originals.
    #[serde(default)]
    pub changed: u64,
    /// The first of these files, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// Those of them that had no part in the passing checks, because originals replaced them as a whole: the first of
    /// them. What the guard flags in them needs no review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_files: Vec<String>,
    /// Files that tests and sources share and that decide the result: the checks pass only with the attempt's versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
    /// Original files of tests that do not build or cannot be collected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfit_files: Vec<String>,
    /// Changed files of the test side that the task expects to change: the first of them. They keep the attempt's
    /// content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_files: Vec<String>,
    /// Tests that failed before the attempt and fail with the original tests: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_failing: Vec<String>,
    /// Other original tests that fail, or that were not executed: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided_tests: Vec<String>,
    /// The reports of the checks in the deciding run, in the order of the plan.
    pub checks: Vec<CheckReport>,
    /// Time of the checks in further runs with other originals, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_runs_ms: Option<u64>,
}

impl CrossedReport {
    /// Maximum number of listed files and tests; further ones are counted.
    pub const MAX_LISTED: usize = 50;
}
