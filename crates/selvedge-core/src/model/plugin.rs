//! Request and report of a plug-in check: version 1 of a contract with third-party programs. One JSON object on
//! standard input, one on standard output. [`crate::plugin`] parses the report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Failure, TestSummary};

/// The version of the contract.
pub const PLUGIN_VERSION: u32 = 1;

/// The request to a plug-in. Later releases may add fields; plug-ins must ignore unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginRequest {
    /// [`PLUGIN_VERSION`].
    pub v: u32,
    /// The name of the check.
    pub check: String,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The directory that is checked, absolute; the working directory of the plug-in.
    pub directory: PathBuf,
    /// Time until it is terminated, in milliseconds.
    pub timeout_ms: u64,
    /// The check's own settings, as configured; `null` if there are none.
    pub settings: Value,
}

/// The report of a plug-in, which then exits with 0, whatever the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginReport {
    /// [`PLUGIN_VERSION`].
    pub v: u32,
    /// The result.
    pub status: PluginStatus,
    /// The reason, in one line: required for errors, and for a failure without `failures`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The failures, with file and line if known; the next attempt receives them.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// The tests that it ran, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// Fields that this version of the contract does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// The result of a plug-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginStatus {
    /// The check passes.
    Pass,
    /// The check fails.
    Fail,
    /// The check could not be carried out.
    Error,
}
