//! Assignment of a task to a worker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lease_token::LeaseToken;
use selvedge_core::model::Task;

/// A person's decision that the next worker must act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssignedReview {
    /// The reviewer who rejected the work.
    pub by: String,
    /// The name that the request gave; not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<String>,
    /// The reason, as feedback for the next attempt.
    pub reason: String,
}

/// An offer: takes effect once the worker has accepted it and the hub has acknowledged that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskAssign {
    /// The lease of the assignment.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// Duration of the lease after each renewal, in milliseconds.
    pub ttl_ms: u64,
    /// The complete task, including the hub's defaults.
    pub task: Task,
    /// The last attempt number so far; 0 for none.
    #[serde(rename = "last_run_number", default)]
    pub last_attempt_number: u32,
    /// Sequence number of the last event in the task's journal; 0 for none. If there is any, the worker fetches the
    /// journal and continues it.
    #[serde(default)]
    pub last_event_seq: u64,
    /// Leases lost and infrastructure errors so far.
    #[serde(default)]
    pub infra_losses: u32,
    /// A person rejected the work and requested another attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<AssignedReview>,
}
