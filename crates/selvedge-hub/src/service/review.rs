//! Records a review in the run's own journal: the journal of the task that is awaiting review is folded,
//! decided by the state machine and appended, so that the journal contains how the run ended.

use selvedge_core::machine::{Input, JournalState, decide};
use selvedge_core::model::{
    ENVELOPE_VERSION, Envelope, Event, ReviewRecord, ReviewTarget, RunId, TaskId, Timestamp,
};
use selvedge_protocol::lease::LeaseError;
use selvedge_protocol::{ReviewDecision, TaskState};
use selvedge_store::hub::{
    AuditAction, HubStoreError, TaskAudit, TaskChange, TaskRecord, TaskView,
};
use serde_json::Value;

use super::{Actor, ServiceError, apply_change, find};
use crate::hub::Hub;
use crate::journal_states::load_state;

/// A reviewer's request.
#[derive(Debug)]
pub(crate) struct ReviewOrder {
    /// The decision.
    pub(crate) decision: ReviewDecision,
    /// The name that the reviewer gave.
    pub(crate) stated_by: Option<String>,
    /// The reason.
    pub(crate) reason: String,
    /// The attempt that the reviewer saw, as far as it was named.
    pub(crate) named: ReviewTarget,
}

/// Records a review of a task.
pub(crate) async fn review(
    hub: &Hub,
    actor: &Actor,
    task: &str,
    order: ReviewOrder,
) -> Result<(), ServiceError> {
    let (view, _) = find(hub, actor, task).await?;
    if order.decision != ReviewDecision::Accept && order.reason.trim().is_empty() {
        return Err(ServiceError::invalid_field(
            "reason",
            "must not be empty: why is the work rejected?",
        ));
    }
    if !may_review(hub, &view, actor).await? {
        return Err(ServiceError::Forbidden(
            "the submitter of a task may not review it on this hub; ask another reviewer"
                .to_owned(),
        ));
    }
    let change = review_change(hub, actor, &view.row, order).await?;
    apply_change(hub, view.row.task_id, change).await
}

/// Records that a user undid a decision about a task before it took effect, or applied it before its time.
pub(crate) async fn record_held_decision(
    hub: &Hub,
    actor: &Actor,
    task: &str,
    action: AuditAction,
    decision: ReviewDecision,
    reviewer: &str,
) -> Result<(), ServiceError> {
    let (view, _) = find(hub, actor, task).await?;
    let decision = match decision {
        ReviewDecision::Accept => AuditAction::AcceptWork,
        ReviewDecision::Reject => AuditAction::RejectWork,
        ReviewDecision::Retry => AuditAction::RequestAttempt,
    };
    let audit = TaskAudit {
        actor: actor.clone().into(),
        action,
        detail: format!("{} of {reviewer}", decision.as_str()),
    };
    Ok(hub.store.record_audit(view.row.task_id, audit).await?)
}

/// Whether a user may review a task, as far as it depends on who submitted it, or the plan that it is a subtask of. Two
/// people are compared by their identities. Tokens of one name count as one user, and so does a person with a token of
/// that name.
pub(crate) async fn may_review(
    hub: &Hub,
    view: &TaskView,
    user: &Actor,
) -> Result<bool, HubStoreError> {
    if !hub.settings.forbid_self_review {
        return Ok(true);
    }
    let plan = view.part_of.as_ref().map(|part| part.plan);
    let task = plan.map_or(view.row.task_id, |plan| TaskId::new(plan.uuid()));
    let submitter = hub.store.submitting_person(task).await?;
    Ok(match (&user.person, submitter) {
        (Some(reviewer), Some(submitter)) => *reviewer != submitter,
        _ => view.submitted_by != user.name,
    })
}

/// The attempt to review, while the task awaits a review.
pub(crate) async fn review_target(hub: &Hub, row: &TaskRecord) -> Option<ReviewTarget> {
    if row.lease.state != TaskState::NeedsReview {
        return None;
    }
    let state = load_state(hub, row.task_id).await.ok();
    Some(target_of(row, state.as_deref()))
}

fn target_of(row: &TaskRecord, state: Option<&JournalState>) -> ReviewTarget {
    let run = state.and_then(|state| state.run.as_ref());
    ReviewTarget {
        attempt: Some(row.lease.last_attempt),
        tree: run.and_then(|run| run.review_target()?.tree),
    }
}

/// The change for a review. Reads the attempt to review and compares it with what the reviewer named; the
/// store applies the change only while exactly that attempt is still awaiting review.
async fn review_change(
    hub: &Hub,
    actor: &Actor,
    row: &TaskRecord,
    order: ReviewOrder,
) -> Result<TaskChange, ServiceError> {
    let conflict = |why: &dyn std::fmt::Display| ServiceError::Conflict(why.to_string());
    if row.lease.state != TaskState::NeedsReview {
        return Err(conflict(&LeaseError::NotAwaitingReview(row.lease.state)));
    }
    // A journal of a later release cannot be folded here: the decision is only in the hub's log.
    let state = load_state(hub, row.task_id).await.ok();
    let state = state.as_deref();
    let target = target_of(row, state);
    target
        .check(&order.named)
        .map_err(|stale| conflict(&stale))?;
    let accepted = order.decision == ReviewDecision::Accept;
    let record = ReviewRecord {
        accepted,
        by: actor.name.clone(),
        stated_by: order.stated_by.filter(|name| *name != actor.name),
        reason: order.reason,
        target,
    };
    // A task without a run of its own (from another program's worker) can still be reviewed.
    let awaits_review = |state: &&JournalState| {
        let run = state.run.as_ref();
        state.unknown.is_empty() && run.is_some_and(|run| run.review.is_some())
    };
    let events = match state.filter(awaits_review) {
        None => Vec::new(),
        Some(state) => {
            let input = Input::Review {
                named: ReviewTarget::default(),
                accepted,
                retry: order.decision == ReviewDecision::Retry,
                by: record.by.clone(),
                stated_by: record.stated_by.clone(),
                reason: record.reason.clone(),
            };
            let events = decide(state, input).map_err(|illegal| conflict(&illegal))?;
            // The next worker begins another attempt; here it is only rejected if none is left.
            if order.decision == ReviewDecision::Retry {
                Vec::new()
            } else {
                wrap_events(hub, row, events).await?
            }
        }
    };
    Ok(TaskChange::Review {
        decision: order.decision,
        actor: actor.clone().into(),
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
) -> Result<Vec<Value>, HubStoreError> {
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
    // Contains only maps with string keys and numbers: an envelope always has a JSON form.
    serde_json::to_value(envelope).unwrap_or_default()
}
