//! Leases on the wire: which worker holds which task, under which epoch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::TaskId;

/// The credential of every write: a task, the number of its assignment, and the secret of that assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LeaseToken {
    /// The task.
    pub task_id: TaskId,
    /// Increases by 1 with each assignment of the task, never reset.
    pub lease_epoch: u64,
    /// Random, known only to the hub and to the worker that holds the lease.
    pub lease_token: String,
}

/// A lease without its secret, for responses.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LeaseId {
    /// The task.
    pub task_id: TaskId,
    /// The number of the assignment.
    pub lease_epoch: u64,
}

impl LeaseToken {
    /// Returns it without its secret.
    pub const fn id(&self) -> LeaseId {
        LeaseId {
            task_id: self.task_id,
            lease_epoch: self.lease_epoch,
        }
    }
}

/// A task that a worker reports as held when it connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldLease {
    /// The lease.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// The attempt that is open; 0 for none.
    #[serde(rename = "run_number", default)]
    pub attempt_number: u32,
    /// The last entry of its stream that the worker has stored; 0 for none.
    #[serde(default)]
    pub last_seq: u64,
}

/// The hub's response about a held lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum RenewalResult {
    /// The lease is valid.
    Keep {
        /// Time until it expires, from the hub's response, in milliseconds.
        expires_in_ms: u64,
        /// The next entry that the hub expects; all earlier ones are durable.
        next_seq: u64,
        /// The reason of a cancellation, if the task is to be cancelled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel: Option<String>,
    },
    /// The lease has ended: stop all processes, and write nothing more.
    Abort {
        /// The reason.
        reason: String,
    },
}

/// The hub's response for one lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRenewal {
    /// The lease.
    #[serde(flatten)]
    pub key: LeaseId,
    /// The response.
    #[serde(flatten)]
    pub verdict: RenewalResult,
}
