//! The beginning of a session: confirms or rejects the leases that the worker holds, and withdraws offers
//! that it never accepted.

use std::collections::HashSet;

use selvedge_core::model::TaskId;
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{
    DEFAULT_PROJECT, HeldLease, Hello, HubMessage, LeaseRenewal, RenewalResult,
};
use selvedge_store::fault;
use selvedge_store::hub::{ApiToken, ChangeAnswer, HubStoreError, TaskChange};

use super::registry::SessionHandle;
use crate::hub::Hub;

/// An answer for each lease that the worker holds; `None` if the store fails.
pub(super) async fn answer_held_leases(
    hub: &Hub,
    handle: &SessionHandle,
    hello: &Hello,
) -> Option<Vec<LeaseRenewal>> {
    let mut answers = Vec::new();
    for held in &hello.held {
        let verdict = renew_held_lease(hub, held).await;
        let verdict = verdict
            .inspect_err(|error| tracing::error!(%error, "cannot answer a worker's handshake"))
            .ok()?;
        answers.push(LeaseRenewal {
            key: held.lease.id(),
            verdict,
        });
    }
    if let Err(error) = withdraw_unknown_offers(hub, handle, hello).await {
        tracing::warn!(%error, "cannot withdraw a worker's earlier offers; they remain until they expire");
    }
    Some(answers)
}

/// The welcome message that answers a worker's hello.
pub(super) fn welcome_message(hub: &Hub, answers: Vec<LeaseRenewal>) -> HubMessage {
    let ttl = hub.settings.timing.ttl().as_millis();
    HubMessage::Welcome {
        hub: hub.settings.name.clone(),
        ttl_ms: u64::try_from(ttl).unwrap_or(u64::MAX),
        answers,
    }
}

async fn renew_held_lease(hub: &Hub, held: &HeldLease) -> Result<RenewalResult, HubStoreError> {
    // A worker that holds the lease has accepted it, even if that was never acknowledged.
    let input = LeaseInput::Accept(held.lease.clone());
    renewal_result(hub, held.lease.task_id, input).await
}

/// The result of a renewal or an acceptance.
pub(super) async fn renewal_result(
    hub: &Hub,
    task: TaskId,
    input: LeaseInput,
) -> Result<RenewalResult, HubStoreError> {
    let ttl = hub.settings.timing.ttl().as_millis();
    let verdict = hub.store.change(task, TaskChange::Lease(input)).await?;
    fault::failpoint("hub.renew.committed");
    Ok(match verdict {
        Some(verdict) if verdict.answer == ChangeAnswer::Applied => RenewalResult::Keep {
            expires_in_ms: u64::try_from(ttl).unwrap_or(u64::MAX),
            next_seq: verdict.row.entry_seq + 1,
            cancel: verdict.row.lease.cancel,
        },
        Some(verdict) => {
            // Another hub may have expired the lease.
            if !verdict.row.lease.is_held() {
                hub.sessions.release(verdict.row.lease_id());
            }
            RenewalResult::Abort {
                reason: match verdict.answer {
                    ChangeAnswer::Refused { detail, .. } => detail,
                    ChangeAnswer::Applied => String::new(),
                },
            }
        }
        None => RenewalResult::Abort {
            reason: "unknown task".to_owned(),
        },
    })
}

/// The project whose tasks a worker with this token takes; `None` for all.
pub(super) fn served_project(identity: &ApiToken) -> Option<String> {
    (identity.project != DEFAULT_PROJECT).then(|| identity.project.clone())
}

/// Offers that the worker does not know of never reached it. Accepted tasks stay with it until the lease
/// expires: an older process of the same name may still be working on them.
async fn withdraw_unknown_offers(
    hub: &Hub,
    handle: &SessionHandle,
    hello: &Hello,
) -> Result<(), HubStoreError> {
    let held: HashSet<TaskId> = hello.held.iter().map(|held| held.lease.task_id).collect();
    for row in hub.store.offers_to(handle.worker().to_owned()).await? {
        if !held.contains(&row.task_id) {
            let epoch = row.lease.epoch;
            hub.change(row.task_id, TaskChange::Forget { epoch })
                .await?;
        }
    }
    Ok(())
}
