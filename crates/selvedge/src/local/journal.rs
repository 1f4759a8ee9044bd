//! An event sink on the local journal. One thread writes, and answers when the events are durable.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;
use selvedge_core::model::{Envelope, RunId};
use selvedge_engine::{AppendResult, EventSink, SinkError};
use selvedge_store::{Journal, SqliteJournal, StoreError};
use tokio::sync::oneshot;

/// Limit for queued appends: there is one run, which waits for each append.
const QUEUE_CAPACITY: usize = 4;

struct AppendRequest {
    expected_seq: u64,
    events: Vec<Envelope>,
    answer: oneshot::Sender<Result<selvedge_store::AppendOutcome, StoreError>>,
}

pub(crate) struct JournalSink {
    appends: Option<SyncSender<AppendRequest>>,
    writer: Option<JoinHandle<()>>,
}

impl JournalSink {
    /// Starts the writer's thread.
    pub(crate) fn new(journal: SqliteJournal, run: RunId) -> Self {
        let (appends, queue) = sync_channel(QUEUE_CAPACITY);
        let writer = std::thread::spawn(move || run_writer(&journal, run, &queue));
        Self {
            appends: Some(appends),
            writer: Some(writer),
        }
    }
}

fn run_writer(journal: &SqliteJournal, run: RunId, queue: &Receiver<AppendRequest>) {
    while let Ok(AppendRequest {
        expected_seq,
        events,
        answer,
    }) = queue.recv()
    {
        // The caller may have stopped waiting; the events are stored anyway.
        let _ = answer.send(journal.append(run, expected_seq, &events));
    }
}

impl EventSink for JournalSink {
    fn append(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> BoxFuture<'_, Result<AppendResult, SinkError>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let append = AppendRequest {
                expected_seq,
                events,
                answer,
            };
            let sent = self
                .appends
                .as_ref()
                .is_some_and(|queue| queue.send(append).is_ok());
            let writer_gone = || {
                SinkError::from(Box::<dyn std::error::Error + Send + Sync>::from(
                    "the journal writer has stopped",
                ))
            };
            if !sent {
                return Err(writer_gone());
            }
            match answered.await.map_err(|_| writer_gone())? {
                Ok(selvedge_store::AppendOutcome::Committed) => Ok(AppendResult::Committed),
                Ok(selvedge_store::AppendOutcome::Fenced { .. }) => Ok(AppendResult::Fenced),
                Err(error) => Err(SinkError::from(
                    Box::<dyn std::error::Error + Send + Sync>::from(error),
                )),
            }
        })
    }
}

impl Drop for JournalSink {
    fn drop(&mut self) {
        self.appends = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
