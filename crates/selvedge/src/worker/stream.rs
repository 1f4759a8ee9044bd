//! A task's way to its hub, as the driver sees it: a sink that is a barrier.
//!
//! An append is done once its entries are durable in the outbox. One that gives out an attempt's number is
//! done only once the hub has it too: no agent starts under a number that another worker might be given.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::fleet::{Entry, TaskResult, WorkerMessage};
use selvedge_core::machine::State;
use selvedge_core::model::{Envelope, Report};
use selvedge_engine::workspace::Workspace;
use selvedge_engine::{Appended, EventSink, SinkError};
use selvedge_store::{OutboxEntry, fault};
use serde_json::Value;
use tokio::sync::Mutex;

use super::activity::Tap;
use super::desk::Desk;
use super::files::{Trees, outputs, upload};
use super::lane::Lane;
use super::pump::{Upload, WINDOW};
use super::split::{Draft, Kind, Told};

/// How often what is going on is sent.
const BATCH: Duration = Duration::from_millis(100);

/// What ends a task's stream.
#[derive(Debug, Clone)]
pub(super) enum Last {
    Complete {
        completion_id: String,
        result: Box<TaskResult>,
    },
    Release {
        reason: String,
        charged: bool,
    },
}

/// The stream.
pub(super) struct Stream {
    lane: Arc<Lane>,
    desk: Desk,
    tap: Arc<Tap>,
    /// Where the run keeps its outputs.
    run_dir: PathBuf,
    workspace: Option<Workspace>,
    inner: Mutex<Inner>,
}

struct Inner {
    told: Told,
    seq: u64,
    /// Files that were named to the hub under this grant.
    named: BTreeSet<String>,
    /// Events that the hub has and that are not written down here: they are with the first of our own. Until
    /// then a worker that comes again takes the task over anew.
    inherited: Vec<String>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Stream {
    /// Goes on from what was written down.
    pub(super) fn new(
        lane: Arc<Lane>,
        desk: Desk,
        tap: Arc<Tap>,
        run_dir: PathBuf,
        workspace: Option<Workspace>,
        state: State,
        inherited: Vec<String>,
    ) -> Self {
        // What a hub has that we do not know of went out before we were cut off.
        let seq = lane
            .last_seq()
            .max(lane.standing().next_seq.saturating_sub(1));
        let told = Told::of(state);
        Self {
            lane,
            desk,
            tap,
            run_dir,
            workspace,
            inner: Mutex::new(Inner {
                told,
                seq,
                named: BTreeSet::new(),
                inherited,
            }),
        }
    }

    /// Sends what is going on, until it is dropped.
    pub(super) async fn keep_telling(&self) {
        let mut every = tokio::time::interval(BATCH);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let mut inner = self.inner.lock().await;
            if inner.seq + 1 >= self.lane.standing().next_seq + WINDOW {
                self.tap.drop_all();
                continue;
            }
            let Some(batch) = self.tap.take() else {
                continue;
            };
            let mut entry = self.entry(&mut inner);
            entry.activity = batch.activity;
            entry.dropped = batch.dropped;
            let open = inner.told.open();
            let written = self.write(
                0,
                Vec::new(),
                vec![(entry, Kind::Progress, Vec::new())],
                open,
            );
            if !matches!(written.await, Ok(true)) {
                // Nothing follows from an activity; that nothing can be written is the next append's to say.
                inner.seq -= 1;
            }
        }
    }

    /// Ends the stream, and returns once the hub has it; `false` when the lease was over before.
    pub(super) async fn end(&self, last: Last, files: Vec<Upload>) -> Result<bool, Failure> {
        fault::reached("worker.complete.before");
        let mut inner = self.inner.lock().await;
        let mut entry = self.entry(&mut inner);
        if let Some(batch) = self.tap.take() {
            entry.activity = batch.activity;
            entry.dropped = batch.dropped;
        }
        entry.files = files.iter().map(|it| it.file.clone()).collect();
        let seq = entry.seq;
        let message = match last {
            Last::Complete {
                completion_id,
                result,
            } => WorkerMessage::TaskComplete {
                entry,
                completion_id,
                result,
            },
            Last::Release { reason, charged } => WorkerMessage::TaskRelease {
                entry,
                reason,
                charged,
            },
        };
        let entry = OutboxEntry {
            seq,
            message: serde_json::to_string(&message)?,
            files: serde_json::to_string(&files)?,
        };
        let key = self.lane.key();
        let written = self
            .desk
            .with(move |it| it.append(key, 0, &[], &[entry], 0));
        if !written.await? {
            return Ok(false);
        }
        fault::reached("worker.complete.written");
        self.lane.ends_with(seq);
        self.lane.wrote(seq, 0);
        let known = self.lane.has(seq).await;
        fault::reached("worker.complete.acknowledged");
        Ok(known)
    }

    fn entry(&self, inner: &mut Inner) -> Entry {
        inner.seq += 1;
        Entry::new(self.lane.lease.clone(), inner.seq)
    }

    async fn take(&self, expected_seq: u64, events: Vec<Envelope>) -> Result<Appended, Failure> {
        let mut inner = self.inner.lock().await;
        // Events are never dropped: they wait for room.
        let room = inner.seq.saturating_sub(WINDOW);
        if !self.lane.has(room).await {
            return Ok(Appended::Fenced);
        }
        let mut journal = inner.inherited.clone();
        let after = if journal.is_empty() { expected_seq } else { 0 };
        for event in &events {
            journal.push(serde_json::to_string(event)?);
        }
        let drafts = inner.told.take(events);
        let mut entries = Vec::new();
        let mut barrier = None;
        // What went on before these events is told before them.
        if let Some(batch) = self.tap.take() {
            let mut entry = self.entry(&mut inner);
            entry.activity = batch.activity;
            entry.dropped = batch.dropped;
            entries.push((entry, Kind::Progress, Vec::new()));
        }
        for draft in drafts {
            let uploads = self.files_of(&draft, &mut inner).await;
            let mut entry = self.entry(&mut inner);
            for event in &draft.events {
                entry.events.push(serde_json::to_value(event)?);
            }
            entry.costs = draft.costs;
            entry.files = uploads.iter().map(|it| it.file.clone()).collect();
            if matches!(draft.kind, Kind::BeginRun { .. }) {
                barrier = Some(entry.seq);
            }
            entries.push((entry, draft.kind, uploads));
        }
        let open = inner.told.open();
        if !self.write(after, journal, entries, open).await? {
            return Ok(Appended::Fenced);
        }
        inner.inherited = Vec::new();
        let Some(seq) = barrier.filter(|_| !fault::planted("start_before_begin")) else {
            return Ok(Appended::Committed);
        };
        fault::reached("worker.begin_run.written");
        if !self.lane.has(seq).await {
            return Ok(Appended::Fenced);
        }
        fault::reached("worker.begin_run.acknowledged");
        Ok(Appended::Committed)
    }

    async fn write(
        &self,
        after: u64,
        journal: Vec<String>,
        entries: Vec<(Entry, Kind, Vec<Upload>)>,
        open: u32,
    ) -> Result<bool, Failure> {
        let mut rows = Vec::new();
        let (mut reports, mut notes) = (false, Vec::new());
        for (entry, kind, uploads) in entries {
            if let Kind::SubmitReport { run_number, report } = &kind {
                reports = true;
                notes.extend(note_of_report(&entry, *run_number, report));
            }
            rows.push(OutboxEntry {
                seq: entry.seq,
                message: serde_json::to_string(&message(entry, kind)?)?,
                files: serde_json::to_string(&uploads)?,
            });
        }
        let Some(last) = rows.last().map(|row| row.seq) else {
            return Ok(true);
        };
        let key = self.lane.key();
        let written = self
            .desk
            .with(move |it| it.append(key, after, &journal, &rows, open))
            .await?;
        if written {
            // Not before: what was never written down may be another entry under the same number.
            for note in notes {
                fault::note(|| note);
            }
            fault::reached("worker.entry.written");
            if reports {
                fault::reached("worker.report.written");
            }
            self.lane.wrote(last, open);
        }
        Ok(written)
    }

    /// What a draft's attempt left behind, for the hub to keep: outputs, patch, tree.
    async fn files_of(&self, draft: &Draft, inner: &mut Inner) -> Vec<Upload> {
        let number = match &draft.kind {
            Kind::SubmitReport { run_number, .. } | Kind::CloseRun { run_number, .. } => {
                Some(*run_number)
            }
            _ => draft.sealed,
        };
        let Some(number) = number else {
            return Vec::new();
        };
        let Some(run) = &inner.told.state.run else {
            return Vec::new();
        };
        let Some(attempt) = run.attempt(number) else {
            return Vec::new();
        };
        let mut names = outputs(attempt.session.as_ref(), attempt.report.as_ref());
        if let Some(baseline) = &run.baseline {
            let outputs = baseline
                .checks
                .iter()
                .filter_map(|it| it.output_ref.as_ref());
            names.extend(outputs.map(|it| it.file.clone()));
        }
        names.retain(|name| inner.named.insert(name.clone()));
        let trees = Trees {
            start: run.start_tree.clone(),
            from: attempt.from_tree.clone(),
            tree: attempt.tree.clone().filter(|_| draft.sealed.is_some()),
        };
        let (run_dir, workspace) = (self.run_dir.clone(), self.workspace.clone());
        let gathered = tokio::task::spawn_blocking(move || {
            let mut uploads: Vec<_> = names
                .iter()
                .filter_map(|name| upload(name, &run_dir.join(name)))
                .collect();
            if let Some(workspace) = workspace {
                uploads.extend(trees.files(&workspace, number, &run_dir));
            }
            uploads
        });
        gathered.await.unwrap_or_default()
    }
}

impl EventSink for Stream {
    fn append(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> BoxFuture<'_, Result<Appended, SinkError>> {
        Box::pin(async move { self.take(expected_seq, events).await.map_err(SinkError) })
    }
}

fn message(entry: Entry, kind: Kind) -> Result<WorkerMessage, serde_json::Error> {
    Ok(match kind {
        Kind::Progress => WorkerMessage::TaskProgress(entry),
        Kind::BeginRun {
            run_number,
            from_tree,
        } => WorkerMessage::BeginRun {
            entry,
            run_number,
            from_tree,
        },
        Kind::SubmitReport { run_number, report } => WorkerMessage::SubmitReport {
            entry,
            run_number,
            report: serde_json::to_value(&report)?,
        },
        Kind::CloseRun {
            run_number,
            closing,
        } => WorkerMessage::CloseRun {
            entry,
            run_number,
            closing,
        },
    })
}

/// The fault tests hold what the hub keeps against this, byte for byte.
fn note_of_report(entry: &Entry, run: u32, report: &Report) -> Option<Value> {
    fault::drafted(|| {
        let body = serde_json::to_value(report).unwrap_or_default().to_string();
        serde_json::json!({
            "what": "report", "task": entry.lease.task_id, "epoch": entry.lease.lease_epoch,
            "seq": entry.seq, "run": run, "body": body,
        })
    })
}
