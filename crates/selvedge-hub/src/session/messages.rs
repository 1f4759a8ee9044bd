//! Handles each message of a worker and returns the answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use selvedge_core::lease::LeaseCredential;
use selvedge_core::model::{AttemptEnd, TaskId};
use selvedge_core::protocol::{
    EntryHeader, HubMessage, LeaseId, LeaseRenewal, LeaseToken, RefusalCode, WorkerMessage,
};
use selvedge_store::fault;
use selvedge_store::hub::{
    ChangeAnswer, ChangeOutcome, EntryKind, HubStoreError, StreamEntry, TaskChange,
};

use super::handshake;
use super::registry::SessionHandle;
use crate::hub::Hub;

/// The future answers to a message.
pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = Vec<HubMessage>> + Send>>;

/// The header of the message, if it is an entry.
pub(super) fn entry(message: &WorkerMessage) -> Option<&EntryHeader> {
    match message {
        WorkerMessage::TaskProgress(entry)
        | WorkerMessage::BeginRun { entry, .. }
        | WorkerMessage::SubmitReport { entry, .. }
        | WorkerMessage::CloseRun { entry, .. }
        | WorkerMessage::TaskComplete { entry, .. }
        | WorkerMessage::TaskRelease { entry, .. } => Some(entry),
        _ => None,
    }
}

/// Handles a message. Its first step enqueues the write at the store, so that messages keep their order.
pub(super) fn handle_message(
    hub: Arc<Hub>,
    seat: SessionHandle,
    message: WorkerMessage,
) -> AnswerFuture {
    match message {
        WorkerMessage::TaskAccept { lease } => Box::pin(async move {
            fault::failpoint("hub.accept.before");
            let change = TaskChange::Accept(credential_of(&lease));
            let told = apply_simple_change(&hub, &lease, change).await;
            fault::failpoint("hub.accept.committed");
            told
        }),
        WorkerMessage::TaskDecline { lease, reason } => Box::pin(async move {
            tracing::info!(task = %lease.task_id, worker = seat.worker(), reason, "declined");
            hub.sessions.record_decline(&seat, lease.task_id);
            let change = TaskChange::Decline(credential_of(&lease));
            apply_simple_change(&hub, &lease, change).await
        }),
        WorkerMessage::Renew { id, leases } => Box::pin(renew(hub, seat, id, leases)),
        WorkerMessage::Draining => {
            hub.sessions.mark_draining(&seat);
            Box::pin(async { Vec::new() })
        }
        WorkerMessage::Hello(_) | WorkerMessage::Unknown => Box::pin(async { Vec::new() }),
        message => match stream_entry(message) {
            Ok(entry) => Box::pin(write_entry(hub, entry)),
            Err(refused) => Box::pin(async move { vec![refused] }),
        },
    }
}

fn credential_of(lease: &LeaseToken) -> LeaseCredential {
    LeaseCredential {
        epoch: lease.lease_epoch,
        token: lease.lease_token.clone(),
    }
}

async fn apply_simple_change(hub: &Hub, lease: &LeaseToken, change: TaskChange) -> Vec<HubMessage> {
    let key = lease.id();
    let verdict = hub.change(lease.task_id, change).await;
    change_reply(key, 0, verdict)
}

/// After an error of the store there is no answer: the worker repeats the message, which is harmless.
fn change_reply(
    key: LeaseId,
    seq: u64,
    verdict: Result<Option<ChangeOutcome>, HubStoreError>,
) -> Vec<HubMessage> {
    let (code, detail) = match verdict {
        Err(error) => {
            tracing::error!(%error, "the store failed");
            return Vec::new();
        }
        Ok(Some(verdict)) => match verdict.answer {
            ChangeAnswer::Applied => return vec![HubMessage::Ack { key, seq }],
            ChangeAnswer::Refused { code, detail } => (code, detail),
        },
        Ok(None) => (RefusalCode::Stale, "unknown task".to_owned()),
    };
    vec![HubMessage::Refused {
        key,
        seq,
        code,
        detail,
    }]
}

async fn renew(
    hub: Arc<Hub>,
    seat: SessionHandle,
    id: u64,
    leases: Vec<LeaseToken>,
) -> Vec<HubMessage> {
    hub.sessions.touch(&seat);
    let each = leases.iter().map(|lease| async {
        let change = TaskChange::Renew(credential_of(lease));
        let verdict = handshake::renewal_result(&hub, lease.task_id, change).await;
        // Without an answer it is omitted: the worker counts from its last renewal.
        let verdict = verdict.ok()?;
        let key = lease.id();
        Some(LeaseRenewal { key, verdict })
    });
    let answers = futures_util::future::join_all(each).await;
    let answers = answers.into_iter().flatten().collect();
    vec![HubMessage::Renewed { id, answers }]
}

async fn write_entry(hub: Arc<Hub>, mut entry: StreamEntry) -> Vec<HubMessage> {
    let lease = &entry.header.lease;
    let (task, key, seq): (TaskId, _, _) = (lease.task_id, lease.id(), entry.header.seq);
    let hashes: Vec<String> = entry
        .header
        .files
        .iter()
        .map(|file| file.hash.clone())
        .collect();
    if !hashes.is_empty() {
        match hub.store.missing(hashes).await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                return vec![HubMessage::Refused {
                    key,
                    seq,
                    code: RefusalCode::MissingBlob,
                    detail: missing.join(" "),
                }];
            }
            Err(error) => return change_reply(key, seq, Err(error)),
        }
    }
    let activity = std::mem::take(&mut entry.header.activity);
    let (before, committed) = fault_points(&entry.step);
    before.into_iter().for_each(fault::failpoint);
    let verdict = hub.change(task, TaskChange::Entry(Box::new(entry))).await;
    committed.into_iter().for_each(fault::failpoint);
    if let Ok(Some(ChangeOutcome {
        answer: ChangeAnswer::Applied,
        row,
        ..
    })) = &verdict
    {
        hub.publish_progress(row, activity);
    }
    change_reply(key, seq, verdict)
}

/// Failpoints before and after an entry's commit.
fn fault_points(step: &EntryKind) -> (Option<&'static str>, Option<&'static str>) {
    match step {
        EntryKind::Begin(_) => (
            Some("hub.begin_run.before"),
            Some("hub.begin_run.committed"),
        ),
        EntryKind::Close { .. } => (Some("hub.report.before"), Some("hub.report.committed")),
        EntryKind::Complete { .. } => (Some("hub.complete.before"), Some("hub.complete.committed")),
        EntryKind::Progress | EntryKind::Release { .. } => (None, None),
    }
}

/// The entry that a message asks the store to write.
fn stream_entry(message: WorkerMessage) -> Result<StreamEntry, HubMessage> {
    let (header, step) = match message {
        WorkerMessage::BeginRun {
            entry, run_number, ..
        } => (entry, EntryKind::Begin(run_number)),
        WorkerMessage::SubmitReport {
            entry,
            run_number,
            report,
        } => {
            let step = EntryKind::Close {
                run_number,
                end: AttemptEnd::Report,
                report: Some(report.to_string()),
            };
            (entry, step)
        }
        WorkerMessage::CloseRun {
            entry,
            run_number,
            closing,
        } => {
            if closing == AttemptEnd::Report {
                return Err(HubMessage::Refused {
                    key: entry.lease.id(),
                    seq: entry.seq,
                    code: RefusalCode::Invalid,
                    detail: "to close an attempt with its report, use `submit_report`".to_owned(),
                });
            }
            let step = EntryKind::Close {
                run_number,
                end: closing,
                report: None,
            };
            (entry, step)
        }
        WorkerMessage::TaskComplete {
            entry,
            completion_id,
            result,
        } => {
            let step = EntryKind::Complete {
                completion_id,
                outcome: result.outcome,
                reason: result.reason.clone(),
                // Contains only maps with string keys and numbers: a result always has a JSON form.
                result: serde_json::to_string(&result).unwrap_or_default(),
            };
            (entry, step)
        }
        WorkerMessage::TaskRelease { entry, charged, .. } => {
            (entry, EntryKind::Release { charged })
        }
        WorkerMessage::TaskProgress(entry) => (entry, EntryKind::Progress),
        // Invariant: this function is only called with entries.
        _ => {
            return Err(HubMessage::Unknown);
        }
    };
    Ok(StreamEntry { header, step })
}
