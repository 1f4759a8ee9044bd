//! What the guard says of a change: the wire types of its rules and of its findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens when a protected file was changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProtectionPolicy {
    /// Its bytes are put back before anything is verified (a planted file is removed).
    #[default]
    Restore,
    /// It stays as it is, and the attempt fails.
    Fail,
    /// It may be changed.
    Allow,
}

/// One protected glob with its policy. A glob without a `/` holds in every directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProtectionRule {
    /// Relative to the workspace, with `/`: `*` stays within a directory, `**` crosses them.
    pub glob: String,
    /// What happens.
    #[serde(default)]
    pub policy: ProtectionPolicy,
}

/// What kind of thing was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A protected file has other check-relevant content than before.
    ProtectedChanged,
    /// A protected file is gone.
    ProtectedRemoved,
    /// A new file would switch how the checks run.
    #[serde(rename = "protected_planted")]
    ProtectedAdded,
    /// A process that the checks run would end early, as a success.
    EarlyExit,
    /// A test is newly skipped, ignored, expected to fail, or runs alone.
    SkipMarker,
    /// A command's failure no longer counts (`|| true`, `set +e`).
    FailureIgnored,
    /// A test that was there before asserts less.
    AssertionRemoved,
    /// A test that was there before expects something else.
    AssertionChanged,
    /// An assertion that holds whatever the code does.
    EmptyAssertion,
    /// The test runner's own code is replaced.
    RunnerPatched,
    /// An equality that is always true.
    ForgedEquality,
    /// Code that is not a test asks whether a test is running.
    TestDetection,
    /// Errors are swallowed whole.
    BroadCatch,
    /// A linter or a type checker is told to look away.
    Suppression,
    /// A dependency that the checks rely on is replaced or re-locked.
    Dependency,
    /// A file of tests is gone.
    TestsRemoved,
    /// A protected file was changed, as the task's own words ask.
    #[serde(rename = "asked_for")]
    RequestedByTask,
}

/// How much a finding weighs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Shown, and handed to the higher tiers; changes no verdict.
    Weak,
    /// A person has to look before the work counts as verified.
    Strong,
    /// The checks were weakened: put back, or the attempt fails.
    #[serde(rename = "offence")]
    Violation,
}

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingAction {
    /// The bytes of the start are put back.
    #[serde(rename = "put_back")]
    Revert,
    /// The planted file is removed.
    Remove,
    /// The attempt fails; the file stays.
    Fail,
    /// Nothing but saying so.
    Flag,
}

/// One thing that the guard noticed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line in the file as it is now, from 1, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What kind of thing.
    pub kind: FindingKind,
    /// How much it weighs.
    pub strength: FindingSeverity,
    /// One line, for the agent and for people: what was done, and why it does not count.
    pub what: String,
    /// What is to be done about it.
    pub action: FindingAction,
}
