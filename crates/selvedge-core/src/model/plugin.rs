//! What a plug-in check is asked and what it answers: version 1 of a contract that other people's
//! programs rely on. One JSON object on standard input, one on standard output. How an answer is read is
//! in [`crate::plugin`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Failure, TestSummary};

/// The version of the contract.
pub const PLUGIN_VERSION: u32 = 1;

/// What a plug-in is asked. A later release may add fields; a plug-in passes over those that it does not
/// know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginRequest {
    /// [`PLUGIN_VERSION`].
    pub v: u32,
    /// What the check is called.
    pub check: String,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The directory that the check is about, absolute; the plug-in runs in it.
    pub directory: PathBuf,
    /// Milliseconds until it is ended.
    pub timeout_ms: u64,
    /// The check's own settings, as they were configured; `null` where it has none.
    pub settings: Value,
}

/// What a plug-in answers; then it exits with 0, whatever it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginReport {
    /// [`PLUGIN_VERSION`].
    pub v: u32,
    /// What it found.
    pub status: PluginStatus,
    /// Why, in one line: needed where it errs, and where it fails without naming a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is wrong, one by one, with file and line where there is one: the next attempt is told.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// What tests it ran, if it ran any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// Fields that this version of the contract does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// What a plug-in found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginStatus {
    /// What it looks at holds.
    Pass,
    /// It does not.
    Fail,
    /// It could not be looked at.
    Error,
}
