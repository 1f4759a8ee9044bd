//! The hub's own response types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use selvedge_core::model::{AttemptEnd, Cost, Outcome, Timestamp};
use selvedge_protocol::{FileRef, Scope, TaskState, TokenRow};
use selvedge_store::hub::{ApiToken, Overview};
use serde::{Deserialize, Serialize};

use crate::task_rows::{cost_of, timestamp};

/// Files of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FilePage {
    /// The files, sorted by name.
    pub(crate) files: Vec<FileRef>,
}

/// A line of the hub's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LogRow {
    /// Its number in the task, from 1.
    pub(crate) seq: u64,
    /// When it was written.
    pub(crate) at: Timestamp,
    /// The event.
    #[schemars(with = "selvedge_protocol::lease::LeaseEvent")]
    pub(crate) event: serde_json::Value,
}

/// A part of the hub's log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LogPage {
    /// The lines, in order.
    pub(crate) lines: Vec<LogRow>,
    /// The value of `after` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

/// An attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AttemptLine {
    /// Its number.
    #[serde(rename = "run_number")]
    pub(crate) attempt_number: u32,
    /// The epoch of the lease under which it began.
    pub(crate) lease_epoch: u64,
    /// When it began.
    pub(crate) begun_at: Timestamp,
    /// When it was closed.
    pub(crate) closed_at: Option<Timestamp>,
    /// How it ended.
    pub(crate) closing: Option<AttemptEnd>,
}

/// The attempts of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AttemptPage {
    /// The attempts, in order.
    pub(crate) runs: Vec<AttemptLine>,
}

/// Queued tasks that require the same labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WaitingTasks {
    /// The labels that a worker must offer.
    pub(crate) labels: Vec<String>,
    /// The number of these tasks.
    pub(crate) tasks: u64,
    /// When the oldest was queued.
    pub(crate) since: Timestamp,
    /// Why no connected worker can take them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unplaceable: Option<String>,
}

/// Queued tasks that a worker could be given now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AssignableTasks {
    /// Their number, at most 10,000: without those that need other labels, or that wait for a limit of their project or
    /// submitter.
    pub(crate) assignable: u64,
}

/// Totals over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HubStats {
    /// Tasks by state.
    pub(crate) states: BTreeMap<String, u64>,
    /// Finished tasks by outcome.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Tasks with the outcome `verified` because a person accepted their work; the others were verified by their
    /// checks.
    pub(crate) accepted: u64,
    /// Tasks that their checks verified, by the number of their reports; 1 means without a retry.
    pub(crate) verified_after: BTreeMap<u32, u64>,
    /// Tasks that their checks verified at the first attempt.
    pub(crate) first_try: u64,
    /// Tasks that their checks verified after at least one retry.
    pub(crate) rescued: u64,
    /// Attempts by how they ended.
    pub(crate) closings: BTreeMap<String, u64>,
    /// Attempts after the first one of a task, by how the previous attempt ended.
    pub(crate) retries: BTreeMap<String, u64>,
    /// Lost leases and infrastructure errors.
    pub(crate) infra_losses: u64,
    /// Total cost.
    pub(crate) cost: Cost,
    /// Total cost divided by the number of verified tasks, in micro-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) micro_usd_per_verified: Option<u64>,
    /// Input and output tokens.
    pub(crate) tokens: u64,
    /// Queued tasks by labels.
    pub(crate) waiting: Vec<WaitingTasks>,
}

pub(crate) fn token_row(identity: &ApiToken) -> TokenRow {
    let scopes = identity.scopes.iter();
    TokenRow {
        id: identity.token_id.to_string(),
        name: identity.name.clone(),
        scopes: scopes.filter_map(|word| Scope::parse(word)).collect(),
        prefix: identity.prefix.clone(),
        project: identity.project.clone(),
        created_at: timestamp(identity.created_at),
        expires_at: identity.expires_at.map(timestamp),
        last_used_at: identity.last_used_at.map(timestamp),
        revoked_at: identity.revoked_at.map(timestamp),
    }
}

pub(crate) fn stats(overview: &Overview) -> HubStats {
    let count = |wanted: TaskState| -> u64 {
        let states = overview.states.iter();
        states
            .filter(|(state, _)| *state == wanted)
            .map(|(_, count)| count)
            .sum()
    };
    let closing = |closing: AttemptEnd| -> String {
        serde_json::to_value(closing)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let after = |wanted: fn(u32) -> bool| -> u64 {
        let verified = overview.verified_after.iter();
        verified
            .filter(|(reports, _)| wanted(*reports))
            .map(|(_, count)| count)
            .sum()
    };
    let verified: u64 = overview
        .outcomes
        .iter()
        .filter(|(outcome, _)| *outcome == Outcome::Verified)
        .map(|(_, count)| count)
        .sum();
    HubStats {
        states: TaskState::ALL
            .map(|state| (state.as_str().to_owned(), count(state)))
            .into(),
        outcomes: overview
            .outcomes
            .iter()
            .map(|(outcome, count)| (outcome.as_str().to_owned(), *count))
            .collect(),
        accepted: overview.accepted,
        verified_after: overview.verified_after.iter().copied().collect(),
        first_try: after(|reports| reports <= 1),
        rescued: after(|reports| reports > 1),
        closings: overview
            .closings
            .iter()
            .map(|(how, count)| (closing(*how), *count))
            .collect(),
        retries: overview
            .retries
            .iter()
            .map(|(how, count)| (closing(*how), *count))
            .collect(),
        infra_losses: overview.losses,
        cost: cost_of(overview.cost),
        micro_usd_per_verified: overview.cost.micro_usd.0.checked_div(verified),
        tokens: overview
            .cost
            .tokens_in
            .saturating_add(overview.cost.tokens_out),
        waiting: overview
            .waiting
            .iter()
            .map(|waiting| WaitingTasks {
                labels: waiting.labels.clone(),
                tasks: waiting.waiting,
                since: timestamp(waiting.since),
                unplaceable: None,
            })
            .collect(),
    }
}
