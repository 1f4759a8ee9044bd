//! The driver's event sink for a hub's task.
//!
//! An append returns when its entries are durable in the outbox. An append that begins an attempt returns only when the
//! hub has it, too: no agent may start under a number that the hub could give to another worker.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::machine::JournalState;
use selvedge_core::model::Envelope;
use selvedge_engine::workspace::Workspace;
use selvedge_engine::{AppendResult, EventSink, SinkError};
use selvedge_protocol::{AttemptReport, EntryHeader, EntryKind, StreamEntry, WorkerMessage};
use selvedge_store::{OutboxEntry, fault};
use serde_json::Value;
use tokio::sync::Mutex;

use super::activity::{ActivityBatch, ActivityBuffer};
use super::entry_builder::{EntryBuilder, EntryDraft};
use super::entry_sender::{SEND_WINDOW, Upload};
use super::lease::WorkerLease;
use super::outbox::AsyncOutbox;
use super::uploads::{AttemptTrees, output_files, prepare_upload};

/// How often activities are sent.
const ACTIVITY_FLUSH_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct HubEventSink {
    lease: Arc<WorkerLease>,
    outbox: AsyncOutbox,
    activity: Arc<ActivityBuffer>,
    /// The directory of the run's outputs.
    run_dir: PathBuf,
    workspace: Option<Workspace>,
    state: Mutex<HubSinkState>,
}

struct HubSinkState {
    entry_builder: EntryBuilder,
    seq: u64,
    /// Files that were named to the hub under this lease.
    uploaded_names: BTreeSet<String>,
    /// Events that the hub has but that the outbox does not contain. They are written together with the first new
    /// events; until then, a restarted worker takes the task over again.
    inherited_journal: Vec<String>,
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

impl HubEventSink {
    /// Continues with the state from the outbox or the hub.
    pub(super) fn new(
        worker_lease: Arc<WorkerLease>,
        outbox: AsyncOutbox,
        activity: Arc<ActivityBuffer>,
        run_dir: PathBuf,
        workspace: Option<Workspace>,
        state: JournalState,
        inherited_journal: Vec<String>,
    ) -> Self {
        // Entries that only the hub has were sent before this worker was interrupted.
        let seq = worker_lease
            .last_seq()
            .max(worker_lease.current_status().next_seq.saturating_sub(1));
        let entry_builder = EntryBuilder::from_state(state);
        Self {
            lease: worker_lease,
            outbox,
            activity,
            run_dir,
            workspace,
            state: Mutex::new(HubSinkState {
                entry_builder,
                seq,
                uploaded_names: BTreeSet::new(),
                inherited_journal,
            }),
        }
    }

    /// Sends activities until it is dropped.
    pub(super) async fn flush_activity(&self) {
        let mut every = tokio::time::interval(ACTIVITY_FLUSH_INTERVAL);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let mut inner = self.state.lock().await;
            if inner.seq + 1 >= self.lease.current_status().next_seq + SEND_WINDOW {
                self.activity.discard();
                continue;
            }
            let Some(batch) = self.activity.take() else {
                continue;
            };
            let entry = self.activity_entry(batch, &mut inner);
            let open = inner.entry_builder.open_attempt();
            let written = self.write_entries(0, Vec::new(), vec![(entry, Vec::new())], open);
            if !matches!(written.await, Ok(true)) {
                // Activities may be lost. If nothing can be written, the next append reports that.
                inner.seq -= 1;
            }
        }
    }

    /// Ends the task; returns once the hub has the entry. Returns `false` if the lease ended before.
    pub(super) async fn end_task(
        &self,
        last: EntryKind,
        files: Vec<Upload>,
    ) -> Result<bool, BoxedError> {
        fault::failpoint("worker.complete.before");
        let mut inner = self.state.lock().await;
        let mut entry = self.next_entry(last, &mut inner);
        if let Some(batch) = self.activity.take() {
            entry.header.activity = batch.activity;
            entry.header.dropped = batch.dropped;
        }
        let seq = entry.header.seq;
        let entry = outbox_entry(entry, &files)?;
        let key = self.lease.key();
        let written = self
            .outbox
            .with(move |it| it.append(key, 0, &[], &[entry], 0));
        if !written.await? {
            return Ok(false);
        }
        fault::failpoint("worker.complete.written");
        self.lease.set_final_seq(seq);
        self.lease.record_written(seq, 0);
        let acknowledged = self.lease.wait_acknowledged(seq).await;
        fault::failpoint("worker.complete.acknowledged");
        Ok(acknowledged)
    }

    fn next_entry(&self, kind: EntryKind, inner: &mut HubSinkState) -> StreamEntry {
        inner.seq += 1;
        StreamEntry {
            header: EntryHeader::new(self.lease.lease.clone(), inner.seq),
            kind,
        }
    }

    fn activity_entry(&self, batch: ActivityBatch, inner: &mut HubSinkState) -> StreamEntry {
        let mut entry = self.next_entry(EntryKind::Progress, inner);
        entry.header.activity = batch.activity;
        entry.header.dropped = batch.dropped;
        entry
    }

    async fn append_events(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> Result<AppendResult, BoxedError> {
        let mut inner = self.state.lock().await;
        // Events are never dropped: the append waits until the window has room.
        let room = inner.seq.saturating_sub(SEND_WINDOW);
        if !self.lease.wait_acknowledged(room).await {
            return Ok(AppendResult::Fenced);
        }
        let mut journal = inner.inherited_journal.clone();
        let after = if journal.is_empty() { expected_seq } else { 0 };
        for event in &events {
            journal.push(serde_json::to_string(event)?);
        }
        let drafts = inner.entry_builder.build_entries(events);
        let mut entries = Vec::new();
        let mut barrier = None;
        // Activities before these events are sent before them.
        if let Some(batch) = self.activity.take() {
            entries.push((self.activity_entry(batch, &mut inner), Vec::new()));
        }
        for draft in drafts {
            let uploads = self.collect_uploads(&draft, &mut inner).await;
            let mut entry = self.next_entry(draft.kind, &mut inner);
            for event in &draft.events {
                entry.header.events.push(serde_json::to_value(event)?);
            }
            entry.header.costs = draft.costs;
            if matches!(entry.kind, EntryKind::BeginAttempt(_)) {
                barrier = Some(entry.header.seq);
            }
            entries.push((entry, uploads));
        }
        let open = inner.entry_builder.open_attempt();
        if !self.write_entries(after, journal, entries, open).await? {
            return Ok(AppendResult::Fenced);
        }
        inner.inherited_journal = Vec::new();
        let Some(seq) = barrier else {
            return Ok(AppendResult::Committed);
        };
        fault::failpoint("worker.begin_run.written");
        if !self.lease.wait_acknowledged(seq).await {
            return Ok(AppendResult::Fenced);
        }
        fault::failpoint("worker.begin_run.acknowledged");
        Ok(AppendResult::Committed)
    }

    async fn write_entries(
        &self,
        after: u64,
        journal: Vec<String>,
        entries: Vec<(StreamEntry, Vec<Upload>)>,
        open: u32,
    ) -> Result<bool, BoxedError> {
        let mut rows = Vec::new();
        let (mut reports, mut notes) = (false, Vec::new());
        for (entry, uploads) in entries {
            if let EntryKind::SubmitReport(attempt) = &entry.kind {
                reports = true;
                notes.extend(report_trace(&entry.header, attempt));
            }
            rows.push(outbox_entry(entry, &uploads)?);
        }
        let Some(last) = rows.last().map(|row| row.seq) else {
            return Ok(true);
        };
        let key = self.lease.key();
        let written = self
            .outbox
            .with(move |it| it.append(key, after, &journal, &rows, open))
            .await?;
        if written {
            // Only now: the number of an entry that was not written may be used again.
            for note in notes {
                fault::trace(|| note);
            }
            fault::failpoint("worker.entry.written");
            if reports {
                fault::failpoint("worker.report.written");
            }
            self.lease.record_written(last, open);
        }
        Ok(written)
    }

    /// Files of the draft's attempt that the hub stores: outputs, patches, tree.
    async fn collect_uploads(&self, draft: &EntryDraft, inner: &mut HubSinkState) -> Vec<Upload> {
        let Some(number) = draft.kind.closed_attempt().or(draft.sealed_attempt) else {
            return Vec::new();
        };
        let Some(run) = &inner.entry_builder.state.run else {
            return Vec::new();
        };
        let Some(attempt) = run.attempt(number) else {
            return Vec::new();
        };
        let mut names = output_files(attempt.session.as_ref(), attempt.report.as_ref());
        if let Some(baseline) = &run.baseline {
            let outputs = baseline
                .checks
                .iter()
                .filter_map(|it| it.output_ref.as_ref());
            names.extend(outputs.map(|it| it.file.clone()));
        }
        names.retain(|name| inner.uploaded_names.insert(name.clone()));
        let trees = AttemptTrees {
            start: run.start_tree.clone(),
            from: attempt.from_tree.clone(),
            tree: attempt
                .tree
                .clone()
                .filter(|_| draft.sealed_attempt.is_some()),
        };
        let (run_dir, workspace) = (self.run_dir.clone(), self.workspace.clone());
        let gathered = tokio::task::spawn_blocking(move || {
            let mut uploads: Vec<_> = names
                .iter()
                .filter_map(|name| prepare_upload(name, &run_dir.join(name)))
                .collect();
            if let Some(workspace) = workspace {
                uploads.extend(trees.create_uploads(&workspace, number, &run_dir));
            }
            uploads
        });
        gathered.await.unwrap_or_default()
    }
}

impl EventSink for HubEventSink {
    fn append(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> BoxFuture<'_, Result<AppendResult, SinkError>> {
        Box::pin(async move {
            self.append_events(expected_seq, events)
                .await
                .map_err(SinkError)
        })
    }
}

/// An entry as the outbox stores it. The entry names the files that are uploaded before it.
fn outbox_entry(
    mut entry: StreamEntry,
    uploads: &[Upload],
) -> Result<OutboxEntry, serde_json::Error> {
    entry.header.files = uploads.iter().map(|it| it.file.clone()).collect();
    Ok(OutboxEntry {
        seq: entry.header.seq,
        message: serde_json::to_string(&WorkerMessage::from(entry))?,
        files: serde_json::to_string(uploads)?,
    })
}

/// Lets the fault tests compare the hub's reports with this one, byte for byte.
fn report_trace(entry: &EntryHeader, attempt: &AttemptReport) -> Option<Value> {
    fault::draft_trace(|| {
        serde_json::json!({
            "what": "report", "task": entry.lease.task_id, "epoch": entry.lease.lease_epoch,
            "seq": entry.seq, "run": attempt.attempt_number, "body": attempt.report.to_string(),
        })
    })
}
