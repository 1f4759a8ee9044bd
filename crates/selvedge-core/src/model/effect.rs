//! Effects: actions as data, and whether they may be repeated after a crash.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::TreeId;

/// Id of an effect: the sequence number of the event that requested it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct EffectId(pub u64);

/// Why a snapshot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// The start of the run.
    Start,
    /// The result of an attempt, before it is verified.
    After,
    /// The content of the workspace when a run was resumed.
    #[serde(rename = "rescue")]
    Backup,
}

/// An action outside the state machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum EffectKind {
    /// Take a snapshot of the workspace.
    Snapshot {
        /// Its reason.
        moment: SnapshotReason,
    },
    /// Restore a snapshot.
    Restore {
        /// That tree.
        tree: TreeId,
    },
    /// Run the checks on the tree from which the run begins.
    Baseline,
    /// Run the agent's session of an attempt.
    Execute {
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
    },
    /// Wait until the usage limit of the agent's subscription is reset.
    Wait {
        /// When that is.
        until: Timestamp,
    },
    /// Run the checks on an attempt's work.
    Verify {
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
    },
    /// Ask a tier above the checks about an attempt's work.
    Judge {
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// 2 or 3.
        tier: u8,
    },
}

/// Whether an effect may be carried out again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It costs money or cannot be undone: it is never silently repeated.
    AtMostOnce,
    /// It changes nothing but costs money: it may be repeated, and the cost of the interrupted call is then unknown.
    Billable,
    /// Doing it twice has the same effect as once.
    Idempotent,
}

impl EffectKind {
    /// Whether it may be repeated after a crash.
    pub const fn retry_policy(&self) -> RetryPolicy {
        match self {
            Self::Execute { .. } => RetryPolicy::AtMostOnce,
            Self::Judge { .. } => RetryPolicy::Billable,
            Self::Snapshot { .. }
            | Self::Restore { .. }
            | Self::Baseline
            | Self::Wait { .. }
            | Self::Verify { .. } => RetryPolicy::Idempotent,
        }
    }
}
