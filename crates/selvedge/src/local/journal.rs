//! The journal as a sink: one thread writes, and answers once what it wrote is durable.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;
use selvedge_core::model::{Envelope, RunId};
use selvedge_engine::{AppendResult, EventSink, SinkError};
use selvedge_store::{Journal, SqliteJournal, StoreError};
use tokio::sync::oneshot;

/// Appends waiting for the writer: there is one run, which waits for each of its own.
const QUEUE_CAPACITY: usize = 4;

struct AppendRequest {
    expected_seq: u64,
    events: Vec<Envelope>,
    answer: oneshot::Sender<Result<selvedge_store::AppendOutcome, StoreError>>,
}

/// A run's way into the journal.
pub(crate) struct JournalSink {
    appends: Option<SyncSender<AppendRequest>>,
    writer: Option<JoinHandle<()>>,
}

impl JournalSink {
    /// Starts the writer.
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
        // Whoever asked may have gone away; what is written stays written.
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
            let gone = || {
                SinkError::from(Box::<dyn std::error::Error + Send + Sync>::from(
                    "its writer is gone",
                ))
            };
            if !sent {
                return Err(gone());
            }
            match answered.await.map_err(|_| gone())? {
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
