//! Handles each message of a worker and returns the answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use selvedge_core::format::reason_line;
use selvedge_core::model::{AttemptEnd, Outcome, TaskId};
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{
    EntryHeader, EntryKind, HubMessage, LeaseId, LeaseRenewal, LeaseToken, RefusalCode,
    StreamEntry, WorkerMessage,
};
use selvedge_store::fault;
use selvedge_store::hub::{ChangeAnswer, ChangeOutcome, HubStoreError, TaskChange};

use super::handshake;
use super::quarantine::{FailedWork, TaskFailure};
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
    handle: SessionHandle,
    message: WorkerMessage,
) -> AnswerFuture {
    match message {
        WorkerMessage::TaskAccept { lease } => Box::pin(async move {
            fault::failpoint("hub.accept.before");
            let input = LeaseInput::Accept(lease.clone());
            let reply = apply_lease_input(&hub, lease.id(), input).await;
            fault::failpoint("hub.accept.committed");
            reply
        }),
        WorkerMessage::TaskDecline { lease, reason } => Box::pin(async move {
            let shown = reason_line(&reason);
            tracing::info!(task = %lease.task_id, worker = handle.worker(), reason = shown, "declined");
            hub.sessions.record_decline(&handle, lease.task_id);
            let key = lease.id();
            let decline = TaskChange::Decline {
                token: lease,
                reason,
            };
            let verdict = hub.change(key.task_id, decline).await;
            change_reply(key, 0, verdict)
        }),
        WorkerMessage::Renew {
            id,
            leases,
            waiting,
        } => {
            hub.sessions.touch(&handle, waiting);
            Box::pin(renew(hub, id, leases))
        }
        WorkerMessage::Draining => {
            hub.sessions.mark_draining(&handle);
            Box::pin(async { Vec::new() })
        }
        message => match message.into_entry() {
            Some(entry) => Box::pin(write_entry(hub, handle, entry)),
            None => Box::pin(async { Vec::new() }),
        },
    }
}

async fn apply_lease_input(hub: &Hub, key: LeaseId, input: LeaseInput) -> Vec<HubMessage> {
    let verdict = hub.change(key.task_id, TaskChange::Lease(input)).await;
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

async fn renew(hub: Arc<Hub>, id: u64, leases: Vec<LeaseToken>) -> Vec<HubMessage> {
    let each = leases.iter().map(|lease| async {
        let input = LeaseInput::Renew(lease.clone());
        let verdict = handshake::renewal_result(&hub, lease.task_id, input).await;
        // Without an answer it is omitted: the worker counts from its last renewal.
        let verdict = verdict.ok()?;
        let key = lease.id();
        Some(LeaseRenewal { key, verdict })
    });
    let answers = futures_util::future::join_all(each).await;
    let answers = answers.into_iter().flatten().collect();
    vec![HubMessage::Renewed { id, answers }]
}

async fn write_entry(
    hub: Arc<Hub>,
    handle: SessionHandle,
    mut entry: StreamEntry,
) -> Vec<HubMessage> {
    let (key, seq) = (entry.header.lease.id(), entry.header.seq);
    let refused = |code, detail| {
        vec![HubMessage::Refused {
            key,
            seq,
            code,
            detail,
        }]
    };
    if let EntryKind::CloseAttempt(attempt) = &entry.kind
        && attempt.closing == AttemptEnd::Report
    {
        let detail = "to close an attempt with its report, use `submit_report`";
        return refused(RefusalCode::Invalid, detail.to_owned());
    }
    let hashes: Vec<String> = entry
        .header
        .files
        .iter()
        .map(|file| file.hash.clone())
        .collect();
    if !hashes.is_empty() {
        match hub.store.missing(hashes).await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => return refused(RefusalCode::MissingBlob, missing.join(" ")),
            Err(error) => return change_reply(key, seq, Err(error)),
        }
    }
    let activity = std::mem::take(&mut entry.header.activity);
    let (before, committed) = fault_points(&entry.kind);
    before.into_iter().for_each(fault::failpoint);
    let health = HealthSign::of(&entry.kind);
    if let Some(HealthSign::Incapable(reason)) = &health {
        // Before the task is in the queue again.
        hub.sessions.record_incapable(&handle, key.task_id, reason);
    }
    let change = TaskChange::Entry(Box::new(entry));
    let verdict = hub.change(key.task_id, change).await;
    committed.into_iter().for_each(fault::failpoint);
    if let Ok(Some(ChangeOutcome {
        answer: ChangeAnswer::Applied,
        row,
        ..
    })) = &verdict
    {
        hub.publish_progress(row, activity);
        match health {
            Some(HealthSign::Works) => hub.sessions.record_success(&handle),
            Some(HealthSign::Fails(reason)) => {
                let failed = |_| FailedWork::Task(key.task_id);
                record_failure(&hub, &handle, key.task_id, reason, failed).await;
            }
            Some(HealthSign::RunFailed(reason)) => {
                let failed = |place: Option<String>| FailedWork::RunsIn(place.unwrap_or_default());
                record_failure(&hub, &handle, key.task_id, reason, failed).await;
            }
            Some(HealthSign::Incapable(_)) | None => {}
        }
    }
    change_reply(key, seq, verdict)
}

/// Counts a failure of a task's infrastructure; what failed may depend on the task's repository or folder.
async fn record_failure(
    hub: &Hub,
    handle: &SessionHandle,
    task: TaskId,
    reason: String,
    failed: impl FnOnce(Option<String>) -> FailedWork,
) {
    match hub.store.task(task).await {
        Ok(Some((view, _))) => {
            let project = view.project;
            let failure = TaskFailure { project, reason };
            let rules = &hub.settings.quarantine;
            let failed = failed(view.place);
            hub.sessions.record_failure(handle, failed, failure, rules);
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, %task, "cannot count the failure of a worker"),
    }
}

/// The state of the worker that an entry shows.
enum HealthSign {
    /// It carries out tasks.
    Works,
    /// Its infrastructure failed, and the task goes to another worker.
    Fails(String),
    /// The infrastructure of a run failed, which ended it.
    RunFailed(String),
    /// It cannot run the task.
    Incapable(String),
}

impl HealthSign {
    fn of(kind: &EntryKind) -> Option<Self> {
        match kind {
            EntryKind::SubmitReport(_) => Some(Self::Works),
            EntryKind::Complete(completion) => match completion.result.outcome {
                // Without a run, the task can succeed on no worker.
                Outcome::InfraFailed => {
                    let result = &completion.result;
                    let has_run = result.run_id.is_some();
                    has_run.then(|| Self::RunFailed(reason_line(&result.reason)))
                }
                Outcome::Cancelled | Outcome::Interrupted => None,
                _ => Some(Self::Works),
            },
            EntryKind::Release(release) if release.declined => {
                Some(Self::Incapable(reason_line(&release.reason)))
            }
            EntryKind::Release(release) if release.charged => {
                Some(Self::Fails(reason_line(&release.reason)))
            }
            _ => None,
        }
    }
}

/// Failpoints before and after an entry's commit.
fn fault_points(kind: &EntryKind) -> (Option<&'static str>, Option<&'static str>) {
    match kind {
        EntryKind::BeginAttempt(_) => (
            Some("hub.begin_run.before"),
            Some("hub.begin_run.committed"),
        ),
        EntryKind::SubmitReport(_) | EntryKind::CloseAttempt(_) => {
            (Some("hub.report.before"), Some("hub.report.committed"))
        }
        EntryKind::Complete(_) => (Some("hub.complete.before"), Some("hub.complete.committed")),
        EntryKind::Progress | EntryKind::Release(_) => (None, None),
    }
}
