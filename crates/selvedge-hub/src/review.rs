//! A person's decision, as the run's own journal tells it: what waits for nobody any more is folded,
//! decided by the machine and appended, so that whoever reads the journal sees how it ended.

use selvedge_core::lease::Review;
use selvedge_core::machine::{Input, decide};
use selvedge_core::model::{ENVELOPE_VERSION, Envelope, Event, RunId, Timestamp};
use selvedge_store::hub::{Change, TaskRow};
use serde_json::Value;

use crate::facts;
use crate::hub::Hub;
use crate::problem::Refused;

/// The change that a decision makes. A rejection that wants another attempt is the next worker's to
/// act upon.
pub(crate) async fn change(
    hub: &Hub,
    row: &TaskRow,
    review: Review,
    by: &str,
    reason: &str,
) -> Result<Change, Refused> {
    let events = match review {
        Review::Retry => {
            possible(hub, row, by, reason).await?;
            Vec::new()
        }
        Review::Accept | Review::Reject => {
            let input = Input::Review {
                accepted: review == Review::Accept,
                retry: false,
                by: by.to_owned(),
                reason: reason.to_owned(),
            };
            decided(hub, row, input).await?
        }
    };
    Ok(Change::Review {
        by: by.to_owned(),
        review,
        reason: reason.to_owned(),
        after: row.event_seq,
        events,
    })
}

/// Another attempt is the next worker's to begin, and this is the moment to say that none is left: workers
/// would hand it back, one after the other.
async fn possible(hub: &Hub, row: &TaskRow, by: &str, reason: &str) -> Result<(), Refused> {
    let Ok(state) = facts::state(hub, row.task_id).await else {
        return Ok(());
    };
    let input = Input::Review {
        accepted: false,
        retry: true,
        by: by.to_owned(),
        reason: reason.to_owned(),
    };
    let waits = state.run.as_ref().is_some_and(|run| run.review.is_some());
    match decide(&state, input) {
        Err(illegal) if waits => Err(Refused::conflict(illegal.to_string())),
        _ => Ok(()),
    }
}

async fn decided(hub: &Hub, row: &TaskRow, input: Input) -> Result<Vec<Value>, Refused> {
    // What a later release wrote cannot be folded here: the decision stands in the hub's log alone.
    let Ok(state) = facts::state(hub, row.task_id).await else {
        return Ok(Vec::new());
    };
    // A task that waits without a run of its own (another program's worker) is decided all the same.
    let Ok(events) = decide(&state, input) else {
        return Ok(Vec::new());
    };
    let now = hub.store.now().await?;
    let at = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
    let enveloped = (row.event_seq + 1..)
        .zip(events)
        .map(|(seq, event)| envelope(row, seq, at, event));
    Ok(enveloped.collect())
}

fn envelope(row: &TaskRow, seq: u64, at: Timestamp, event: Event) -> Value {
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
