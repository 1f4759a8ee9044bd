//! Cleanup of the processes of a session or a check, with the method of finding them, which determines how reliable the
//! counts are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the processes of a tree are found, in decreasing order of reliability.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CleanupMethod {
    /// The supervisor adopts every orphan, and the kernel reports when no child is left. Exact.
    Subreaper,
    /// The supervisor died; processes were found by a marker in their environment. Processes that cleared their
    /// environment were missed.
    EnvironmentSweep,
    /// There is no subreaper on this system: the process group was killed. Processes that left it were missed.
    ProcessGroup,
}

impl CleanupMethod {
    /// Display name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Subreaper => "child subreaper",
            Self::EnvironmentSweep => "environment sweep",
            Self::ProcessGroup => "process group",
        }
    }
}

/// The cleanup of one process tree, or of several trees of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessCleanup {
    /// How they were found.
    pub method: CleanupMethod,
    /// Processes that outlived the program and were terminated.
    #[serde(default)]
    pub ended: u32,
    /// Processes that could not be terminated. If there are any, the results are not reliable.
    #[serde(default)]
    pub survivors: u32,
}

impl ProcessCleanup {
    /// Combines two trees; the result has the less reliable method.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            method: self.method.max(other.method),
            ended: self.ended.saturating_add(other.ended),
            survivors: self.survivors.saturating_add(other.survivors),
        }
    }

    /// Combines two optional trees.
    pub fn merge_options(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.merge(other)),
            (one, other) => one.or(other),
        }
    }
}
