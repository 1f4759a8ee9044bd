//! Effects: what is to be done in the world, as data, and what becomes of one that was cut off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::TreeId;

/// Names an effect: the sequence number of the event that asked for it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct EffectId(pub u64);

/// Which tree a snapshot keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// What the run began from.
    Start,
    /// What an attempt left behind, before it is verified.
    After,
    /// What stood there when a run was taken up again.
    #[serde(rename = "rescue")]
    Backup,
}

/// Something to be done in the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum EffectKind {
    /// Keep the tree as it is now.
    Snapshot {
        /// Which one it is.
        moment: SnapshotReason,
    },
    /// Make the workspace equal to a kept tree.
    Restore {
        /// That tree.
        tree: TreeId,
    },
    /// Run the checks on the tree that the run begins from.
    Baseline,
    /// Run the agent's session of an attempt.
    Execute {
        /// The attempt.
        run_number: u32,
    },
    /// Run the checks on an attempt's work.
    Verify {
        /// The attempt.
        run_number: u32,
    },
    /// Ask a tier above the checks about an attempt's work.
    Judge {
        /// The attempt.
        run_number: u32,
        /// 2 or 3.
        tier: u8,
    },
}

/// Whether an effect may be carried out again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It costs money or cannot be undone: never silently repeated.
    AtMostOnce,
    /// It changes nothing and costs money: it may be repeated, and what the try that was cut off
    /// cost is then not known.
    Billable,
    /// Doing it twice is the same as doing it once.
    Idempotent,
}

impl EffectKind {
    /// Whether it may be carried out again after a crash.
    pub const fn retry_policy(&self) -> RetryPolicy {
        match self {
            Self::Execute { .. } => RetryPolicy::AtMostOnce,
            Self::Judge { .. } => RetryPolicy::Billable,
            Self::Snapshot { .. } | Self::Restore { .. } | Self::Baseline | Self::Verify { .. } => {
                RetryPolicy::Idempotent
            }
        }
    }
}
