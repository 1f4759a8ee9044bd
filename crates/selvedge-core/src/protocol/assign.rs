//! A task on its way to a worker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lease::LeaseToken;
use crate::model::Task;

/// A person's decision that the next worker is to act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssignedReview {
    /// Who rejected the work.
    pub by: String,
    /// The name that the request gave; not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<String>,
    /// Why: the next attempt is told.
    pub reason: String,
}

/// An offer: it holds once the worker has accepted it and the hub has acknowledged that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskAssign {
    /// The grant.
    #[serde(flatten)]
    pub lease: LeaseToken,
    /// How long the lease lasts from each renewal, in milliseconds.
    pub ttl_ms: u64,
    /// Every field of the task, the hub's defaults filled in.
    pub task: Task,
    /// The last number that was given out to an attempt; 0 for none.
    #[serde(default)]
    pub last_run_number: u32,
    /// The last event of the task's journal; 0 for none. If there is any, the worker fetches the journal
    /// and goes on with it.
    #[serde(default)]
    pub last_event_seq: u64,
    /// Leases lost and infrastructure errors so far.
    #[serde(default)]
    pub infra_losses: u32,
    /// The work was rejected by a person, who wants another attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<AssignedReview>,
}
