//! Findings of the guard about a change: the wire types of its rules and findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Action when a protected file was changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtectionPolicy {
    /// Its content is restored before verification (an added file is removed).
    #[default]
    Restore,
    /// It is kept, and the attempt fails.
    Fail,
    /// It may be changed.
    Allow,
}

/// A protected glob with its policy. A glob without a `/` applies in every directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProtectionRule {
    /// Relative to the workspace, with `/`: `*` stays within a directory, `**` crosses them.
    pub glob: String,
    /// Action when it was changed.
    #[serde(default)]
    pub policy: ProtectionPolicy,
}

/// Kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A protected file has different check-relevant content than before.
    ProtectedChanged,
    /// A protected file was removed.
    ProtectedRemoved,
    /// A new file would affect how the checks run.
    #[serde(rename = "protected_planted")]
    ProtectedAdded,
    /// A process that the checks run would exit early, with success.
    EarlyExit,
    /// The test runner's own code is replaced.
    RunnerPatched,
    /// A comparison that holds for different values.
    ForgedEquality,
    /// Code that is not a test checks whether a test is running.
    TestDetection,
    /// A diagnostic of a linter or a type checker is suppressed.
    Suppression,
    /// A lock file installs a dependency from another source than before, or from no known registry.
    DependencySource,
}

/// Severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Shown, and passed to the higher tiers; does not change a verdict.
    Weak,
    /// Needs review by a person before the work counts as verified.
    Strong,
    /// The checks were weakened: the change is reverted, or the attempt fails.
    #[serde(rename = "offence")]
    Violation,
}

/// Action for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingAction {
    /// The original content is restored.
    #[serde(rename = "put_back")]
    Revert,
    /// The added file is removed.
    Remove,
    /// The attempt fails; the file stays.
    Fail,
    /// None, except reporting it.
    Flag,
}

/// A single finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line in the current file, from 1, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Kind of finding.
    pub kind: FindingKind,
    /// Severity.
    pub strength: FindingSeverity,
    /// One line for the agent and for people: what was done, and why it does not count.
    pub what: String,
    /// Action for it.
    pub action: FindingAction,
}
