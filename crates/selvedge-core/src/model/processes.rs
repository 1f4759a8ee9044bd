//! What became of the processes of a session or a check. How they were found is said beside it, for
//! that is what the count is worth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the processes of a tree are found. In falling order of what it is worth.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CleanupMethod {
    /// The supervisor adopts every orphan; the kernel says when it has no child left. Exact.
    Subreaper,
    /// The supervisor died; processes were found by the mark in their environment. One that
    /// cleared its environment was missed.
    EnvironmentSweep,
    /// No subreaper on this system: the process group was killed. One that left it was missed.
    ProcessGroup,
}

impl CleanupMethod {
    /// As people read it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Subreaper => "child subreaper",
            Self::EnvironmentSweep => "environment sweep",
            Self::ProcessGroup => "process group",
        }
    }
}

/// One tree, or several of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessCleanup {
    /// How they were found.
    pub method: CleanupMethod,
    /// Processes that outlived the program and were ended by us.
    #[serde(default)]
    pub ended: u32,
    /// Processes that could not be ended. With any, nothing that was seen can be trusted.
    #[serde(default)]
    pub survivors: u32,
}

impl ProcessCleanup {
    /// Two trees as one, worth what the lesser is worth.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            method: self.method.max(other.method),
            ended: self.ended.saturating_add(other.ended),
            survivors: self.survivors.saturating_add(other.survivors),
        }
    }

    /// Two trees, either of which may not have been.
    pub fn merge_options(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.merge(other)),
            (one, other) => one.or(other),
        }
    }
}
