//! What each message of a worker does, and what it is answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use selvedge_core::fleet::{
    Entry as Header, HeldAnswer, HubMessage, Lease, LeaseKey, RefusalCode, WorkerMessage,
};
use selvedge_core::lease::Fence;
use selvedge_core::model::{Closing, TaskId};
use selvedge_store::fault;
use selvedge_store::hub::{Answer, Change, Entry, HubStoreError, Step, Verdict};

use super::greeting;
use super::registry::Seat;
use crate::hub::Hub;

/// An answer to come.
pub(super) type Answering = Pin<Box<dyn Future<Output = Vec<HubMessage>> + Send>>;

/// What the message writes, if it is an entry.
pub(super) fn entry(message: &WorkerMessage) -> Option<&Header> {
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

/// Carries a message out. Its first step is to stand in line at the store, so that messages keep
/// their order.
pub(super) fn answer(hub: Arc<Hub>, seat: Seat, message: WorkerMessage) -> Answering {
    match message {
        WorkerMessage::TaskAccept { lease } => Box::pin(async move {
            fault::reached("hub.accept.before");
            let change = Change::Accept(fence(&lease));
            let told = simple(&hub, &lease, change).await;
            fault::reached("hub.accept.committed");
            told
        }),
        WorkerMessage::TaskDecline { lease, reason } => Box::pin(async move {
            tracing::info!(task = %lease.task_id, worker = seat.worker(), reason, "declined");
            hub.sessions.declined(&seat, lease.task_id);
            let change = Change::Decline(fence(&lease));
            simple(&hub, &lease, change).await
        }),
        WorkerMessage::Renew { id, leases } => Box::pin(renew(hub, seat, id, leases)),
        WorkerMessage::Draining => {
            hub.sessions.draining(&seat);
            Box::pin(async { Vec::new() })
        }
        WorkerMessage::Hello(_) | WorkerMessage::Unknown => Box::pin(async { Vec::new() }),
        message => match written(message) {
            Ok(entry) => Box::pin(write(hub, entry)),
            Err(refused) => Box::pin(async move { vec![refused] }),
        },
    }
}

fn fence(lease: &Lease) -> Fence {
    Fence {
        epoch: lease.lease_epoch,
        token: lease.lease_token.clone(),
    }
}

async fn simple(hub: &Hub, lease: &Lease, change: Change) -> Vec<HubMessage> {
    let key = lease.key();
    let verdict = hub.change(lease.task_id, change).await;
    told(key, 0, verdict)
}

/// After an error of the store nothing is said: the worker asks again, and asking again is harmless.
fn told(
    key: LeaseKey,
    seq: u64,
    verdict: Result<Option<Verdict>, HubStoreError>,
) -> Vec<HubMessage> {
    let (code, detail) = match verdict {
        Err(error) => {
            tracing::error!(%error, "the store failed");
            return Vec::new();
        }
        Ok(Some(verdict)) => match verdict.answer {
            Answer::Done => return vec![HubMessage::Ack { key, seq }],
            Answer::Refused { code, detail } => (code, detail),
        },
        Ok(None) => (RefusalCode::Stale, "this hub knows no such task".to_owned()),
    };
    vec![HubMessage::Refused {
        key,
        seq,
        code,
        detail,
    }]
}

async fn renew(hub: Arc<Hub>, seat: Seat, id: u64, leases: Vec<Lease>) -> Vec<HubMessage> {
    hub.sessions.heard_of(&seat);
    let each = leases.iter().map(|lease| async {
        let change = Change::Renew(fence(lease));
        let verdict = greeting::verdict(&hub, lease.task_id, change).await;
        // What cannot be said now is left out: the worker counts from its last renewal.
        let verdict = verdict.ok()?;
        let key = lease.key();
        Some(HeldAnswer { key, verdict })
    });
    let answers = futures_util::future::join_all(each).await;
    let answers = answers.into_iter().flatten().collect();
    vec![HubMessage::Renewed { id, answers }]
}

async fn write(hub: Arc<Hub>, mut entry: Entry) -> Vec<HubMessage> {
    let lease = &entry.header.lease;
    let (task, key, seq): (TaskId, _, _) = (lease.task_id, lease.key(), entry.header.seq);
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
            Err(error) => return told(key, seq, Err(error)),
        }
    }
    let activity = std::mem::take(&mut entry.header.activity);
    let (before, committed) = points(&entry.step);
    before.into_iter().for_each(fault::reached);
    let verdict = hub.change(task, Change::Entry(Box::new(entry))).await;
    committed.into_iter().for_each(fault::reached);
    if let Ok(Some(Verdict {
        answer: Answer::Done,
        row,
        ..
    })) = &verdict
    {
        hub.progress(row, activity);
    }
    told(key, seq, verdict)
}

/// Where a fault test may end us around an entry's commit.
fn points(step: &Step) -> (Option<&'static str>, Option<&'static str>) {
    match step {
        Step::Begin(_) => (
            Some("hub.begin_run.before"),
            Some("hub.begin_run.committed"),
        ),
        Step::Close { .. } => (Some("hub.report.before"), Some("hub.report.committed")),
        Step::Complete { .. } => (Some("hub.complete.before"), Some("hub.complete.committed")),
        Step::Progress | Step::Release { .. } => (None, None),
    }
}

/// What a message asks the store to write.
fn written(message: WorkerMessage) -> Result<Entry, HubMessage> {
    let (header, step) = match message {
        WorkerMessage::BeginRun {
            entry, run_number, ..
        } => (entry, Step::Begin(run_number)),
        WorkerMessage::SubmitReport {
            entry,
            run_number,
            report,
        } => {
            let step = Step::Close {
                run_number,
                closing: Closing::Report,
                report: Some(report.to_string()),
            };
            (entry, step)
        }
        WorkerMessage::CloseRun {
            entry,
            run_number,
            closing,
        } => {
            if closing == Closing::Report {
                return Err(HubMessage::Refused {
                    key: entry.lease.key(),
                    seq: entry.seq,
                    code: RefusalCode::Invalid,
                    detail: "a run is closed by its report with `submit_report`".to_owned(),
                });
            }
            let step = Step::Close {
                run_number,
                closing,
                report: None,
            };
            (entry, step)
        }
        WorkerMessage::TaskComplete {
            entry,
            completion_id,
            result,
        } => {
            let step = Step::Complete {
                completion_id,
                outcome: result.outcome,
                reason: result.reason.clone(),
                // Maps with names for keys, and numbers: a result always has a JSON form.
                result: serde_json::to_string(&result).unwrap_or_default(),
            };
            (entry, step)
        }
        WorkerMessage::TaskRelease { entry, charged, .. } => (entry, Step::Release { charged }),
        WorkerMessage::TaskProgress(entry) => (entry, Step::Progress),
        // Invariant: only entries come here.
        _ => {
            return Err(HubMessage::Unknown);
        }
    };
    Ok(Entry { header, step })
}
