//! A person's decision, as the run's own journal records it: the journal of the task that is awaiting
//! review is folded, decided by the machine and appended, so that whoever reads the journal sees how it ended.

use selvedge_core::lease::{LeaseError, ReviewAction};
use selvedge_core::machine::{Input, JournalState, decide};
use selvedge_core::model::{
    ENVELOPE_VERSION, Envelope, Event, ReviewRecord, ReviewTarget, RunId, Timestamp,
};
use selvedge_core::protocol::TaskState;
use selvedge_store::hub::{TaskChange, TaskRecord};
use serde_json::Value;

use crate::hub::Hub;
use crate::problem::ApiError;
use crate::run_stats;

/// What a reviewer asks for.
#[derive(Debug)]
pub(crate) struct ReviewOrder {
    /// What they decide.
    pub(crate) review: ReviewAction,
    /// The name of their token.
    pub(crate) by: String,
    /// The name that they gave, where they gave another one.
    pub(crate) stated_by: Option<String>,
    /// Why.
    pub(crate) reason: String,
    /// The work that they looked at, as far as they named it.
    pub(crate) named: ReviewTarget,
}

/// The work that a person has to decide on, while the task awaits review.
pub(crate) async fn target(hub: &Hub, row: &TaskRecord) -> Option<ReviewTarget> {
    if row.lease.state != TaskState::NeedsReview {
        return None;
    }
    let state = run_stats::load_state(hub, row.task_id).await.ok();
    Some(target_of(row, state.as_ref()))
}

fn target_of(row: &TaskRecord, state: Option<&JournalState>) -> ReviewTarget {
    let run = state.and_then(|state| state.run.as_ref());
    ReviewTarget {
        attempt: Some(row.lease.last_attempt),
        tree: run.and_then(|run| run.review_target()?.tree),
    }
}

/// The change that a decision makes. What it was decided on is read here and compared with what the reviewer
/// named; the store applies the change only while exactly that is still awaiting review.
pub(crate) async fn change(
    hub: &Hub,
    row: &TaskRecord,
    order: ReviewOrder,
) -> Result<TaskChange, ApiError> {
    let conflict = |why: &dyn std::fmt::Display| ApiError::conflict(why.to_string());
    if row.lease.state != TaskState::NeedsReview {
        return Err(conflict(&LeaseError::NotAwaitingReview(row.lease.state)));
    }
    // What a later release wrote cannot be folded here: the decision is in the hub's log alone.
    let state = run_stats::load_state(hub, row.task_id).await.ok();
    let target = target_of(row, state.as_ref());
    target
        .check(&order.named)
        .map_err(|stale| conflict(&stale))?;
    let accepted = order.review == ReviewAction::Accept;
    let record = ReviewRecord {
        accepted,
        by: order.by,
        stated_by: order.stated_by,
        reason: order.reason,
        target,
    };
    // A task that waits without a run of its own (another program's worker) is decided all the same.
    let waits = |state: &&JournalState| {
        let run = state.run.as_ref();
        state.unknown.is_empty() && run.is_some_and(|run| run.review.is_some())
    };
    let events = match state.as_ref().filter(waits) {
        None => Vec::new(),
        Some(state) => {
            let input = Input::Review {
                named: ReviewTarget::default(),
                accepted,
                retry: order.review == ReviewAction::Retry,
                by: record.by.clone(),
                stated_by: record.stated_by.clone(),
                reason: record.reason.clone(),
            };
            let events = decide(state, input).map_err(|illegal| conflict(&illegal))?;
            // Another attempt is the next worker's to begin; here it is only refused where none is left.
            if order.review == ReviewAction::Retry {
                Vec::new()
            } else {
                wrap_events(hub, row, events).await?
            }
        }
    };
    Ok(TaskChange::Review {
        review: order.review,
        record,
        epoch: row.lease.epoch,
        after: row.event_seq,
        events,
    })
}

async fn wrap_events(
    hub: &Hub,
    row: &TaskRecord,
    events: Vec<Event>,
) -> Result<Vec<Value>, ApiError> {
    let now = hub.store.now().await?;
    let at = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
    let enveloped = (row.event_seq + 1..)
        .zip(events)
        .map(|(seq, event)| envelope(row, seq, at, event));
    Ok(enveloped.collect())
}

fn envelope(row: &TaskRecord, seq: u64, at: Timestamp, event: Event) -> Value {
    let envelope = Envelope {
        v: ENVELOPE_VERSION,
        run_id: RunId::from(row.task_id),
        seq,
        at,
        event,
    };
    // Maps with names for keys, and numbers: an envelope always has a JSON form.
    serde_json::to_value(envelope).unwrap_or_default()
}
