//! A lease as it is spoken of: who holds which task, under which epoch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::TaskId;

/// What fences every write: a task, the number of its grant, and the secret of that grant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LeaseToken {
    /// The task.
    pub task_id: TaskId,
    /// +1 at every grant of the task, never reset.
    pub lease_epoch: u64,
    /// Random, known to the hub and to the one worker that it was granted to.
    pub lease_token: String,
}

/// A lease without its secret, for answers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LeaseId {
    /// The task.
    pub task_id: TaskId,
    /// The number of the grant.
    pub lease_epoch: u64,
}

impl LeaseToken {
    /// Without its secret.
    pub const fn id(&self) -> LeaseId {
        LeaseId {
            task_id: self.task_id,
            lease_epoch: self.lease_epoch,
        }
    }
}

/// A task that a worker says it holds when it connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldLease {
    /// The lease.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// The attempt that is open; 0 for none.
    #[serde(default)]
    pub run_number: u32,
    /// The last entry of its stream that the worker has written down; 0 for none.
    #[serde(default)]
    pub last_seq: u64,
}

/// What the hub says of a lease that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum RenewalResult {
    /// It stands.
    Keep {
        /// From the hub's answer on, in milliseconds.
        expires_in_ms: u64,
        /// The entry that the hub wants next; whatever comes before it is durable there.
        next_seq: u64,
        /// Why the task is to be stopped for good, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel: Option<String>,
    },
    /// It is over: end everything, write nothing more.
    Abort {
        /// Why.
        reason: String,
    },
}

/// The hub's answer for one lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRenewal {
    /// The lease.
    #[serde(flatten)]
    pub key: LeaseId,
    /// What of it.
    #[serde(flatten)]
    pub verdict: RenewalResult,
}
