//! The beginning of a session: what the worker says it holds is kept or not, and what it was offered
//! and never took is free again.

use std::collections::HashSet;

use selvedge_core::fleet::{Held, HeldAnswer, HeldVerdict, Hello, HubMessage, TaskState};
use selvedge_core::lease::Fence;
use selvedge_core::model::TaskId;
use selvedge_store::fault;
use selvedge_store::hub::{Answer, Change, HubStoreError, Identity, ListFilter};

use crate::hub::Hub;

/// An answer for each lease that the worker holds; none when the store cannot say.
pub(super) async fn welcome(
    hub: &Hub,
    identity: &Identity,
    hello: &Hello,
) -> Option<Vec<HeldAnswer>> {
    let mut answers = Vec::new();
    for held in &hello.held {
        let verdict = keep(hub, held).await;
        let verdict = verdict
            .inspect_err(|error| tracing::error!(%error, "cannot greet"))
            .ok()?;
        answers.push(HeldAnswer {
            key: held.lease.key(),
            verdict,
        });
    }
    if let Err(error) = forget(hub, identity, hello).await {
        tracing::warn!(%error, "what a worker was offered before stays until it expires");
    }
    Some(answers)
}

/// The answer to a greeting, as a message.
pub(super) fn said(hub: &Hub, answers: Vec<HeldAnswer>) -> HubMessage {
    let ttl = hub.settings.timing.ttl().as_millis();
    HubMessage::Welcome {
        hub: hub.settings.name.clone(),
        ttl_ms: u64::try_from(ttl).unwrap_or(u64::MAX),
        answers,
    }
}

async fn keep(hub: &Hub, held: &Held) -> Result<HeldVerdict, HubStoreError> {
    let fence = Fence {
        epoch: held.lease.lease_epoch,
        token: held.lease.lease_token.clone(),
    };
    // Whoever holds it has accepted it, even if that was never acknowledged.
    let change = Change::Accept(fence);
    verdict(hub, held.lease.task_id, change).await
}

/// What a renewal, or an acceptance, came to.
pub(super) async fn verdict(
    hub: &Hub,
    task: TaskId,
    change: Change,
) -> Result<HeldVerdict, HubStoreError> {
    let ttl = hub.settings.timing.ttl().as_millis();
    let verdict = hub.store.change(task, change).await?;
    fault::reached("hub.renew.committed");
    Ok(match verdict {
        Some(verdict) if verdict.answer == Answer::Done => HeldVerdict::Keep {
            expires_in_ms: u64::try_from(ttl).unwrap_or(u64::MAX),
            next_seq: verdict.row.entry_seq + 1,
            cancel: verdict.row.lease.cancel,
        },
        Some(verdict) => {
            // Another hub may have taken it back.
            if !verdict.row.lease.is_held() {
                hub.sessions.free(task, verdict.row.lease.epoch);
            }
            HeldVerdict::Abort {
                reason: match verdict.answer {
                    Answer::Refused { detail, .. } => detail,
                    Answer::Done => String::new(),
                },
            }
        }
        None => HeldVerdict::Abort {
            reason: "this hub knows no such task".to_owned(),
        },
    })
}

/// Offers that the worker does not know of never reached it. What it had accepted stays with it until
/// the lease ends: an older process of the same name may still be at it.
async fn forget(hub: &Hub, identity: &Identity, hello: &Hello) -> Result<(), HubStoreError> {
    let held: HashSet<TaskId> = hello.held.iter().map(|held| held.lease.task_id).collect();
    let filter = ListFilter {
        states: vec![TaskState::Offered],
        worker: Some(hello.worker.clone()),
        tenant: Some(identity.tenant.clone()),
        ..ListFilter::default()
    };
    for view in hub.store.tasks(filter, 500).await?.tasks {
        let row = view.row;
        if !held.contains(&row.task_id) {
            let epoch = row.lease.epoch;
            hub.change(row.task_id, Change::Forget { epoch }).await?;
        }
    }
    Ok(())
}
