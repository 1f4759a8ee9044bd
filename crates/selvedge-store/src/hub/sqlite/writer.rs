//! The single writer thread: a batch is one transaction, and callers are answered after its commit. A second
//! thread sends the answers while the first one writes the next batch.

use std::fmt;
use std::sync::mpsc as answers;
use std::thread;

use rusqlite::{Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::writer_cache::WriterCache;
use crate::fault;
use crate::hub::error::HubStoreError;

/// Capacity of the queue of writes; when it is full, callers wait to enqueue.
const MAX_WAITING: usize = 4_096;
/// Maximum number of writes in one transaction.
const MAX_BATCH: usize = 2_048;

pub(super) struct SqliteWriter {
    jobs: mpsc::Sender<Box<dyn WriteJob>>,
}

impl fmt::Debug for SqliteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// Executed writes and their result.
type SettledBatch = (Vec<Box<dyn WriteJob>>, Result<(), HubStoreError>);

/// A write with the caller that waits for it.
trait WriteJob: Send {
    /// Executes the write; may be called again after a rollback.
    fn run(&mut self, db: &WriterCache) -> Result<(), HubStoreError>;
    /// Answers, after the commit or the failure.
    fn respond(self: Box<Self>, outcome: Result<(), HubStoreError>);
}

struct PendingWrite<T, F> {
    job: F,
    value: Option<T>,
    answer: oneshot::Sender<Result<T, HubStoreError>>,
}

impl<T: Send, F: FnMut(&WriterCache) -> Result<T, HubStoreError> + Send> WriteJob
    for PendingWrite<T, F>
{
    fn run(&mut self, db: &WriterCache) -> Result<(), HubStoreError> {
        self.value = None;
        self.value = Some((self.job)(db)?);
        Ok(())
    }

    fn respond(self: Box<Self>, outcome: Result<(), HubStoreError>) {
        let Self { value, answer, .. } = *self;
        let value = outcome.and_then(|()| value.ok_or(HubStoreError::Stopping));
        // The caller may have gone away; the write stays.
        let _ = answer.send(value);
    }
}

impl SqliteWriter {
    pub(super) fn start(db: WriterCache) -> Result<Self, HubStoreError> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let (done, settled) = answers::channel();
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let started = named("hub-answers")
            .spawn(move || answer_all(&settled))
            .and_then(|_| named("hub-writer").spawn(move || write_all(&db, waiting, &done)));
        started.map_err(|error| HubStoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs })
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&WriterCache) -> Result<T, HubStoreError> + Send + 'static,
    ) -> Result<T, HubStoreError> {
        let (answer, answered) = oneshot::channel();
        let value = None;
        let waiting = PendingWrite { job, value, answer };
        self.jobs
            .send(Box::new(waiting))
            .await
            .map_err(|_| HubStoreError::Stopping)?;
        answered.await.map_err(|_| HubStoreError::Stopping)?
    }
}

fn write_all(
    db: &WriterCache,
    mut waiting: mpsc::Receiver<Box<dyn WriteJob>>,
    done: &answers::Sender<SettledBatch>,
) {
    // The answering thread lives as long as this one.
    let settle = |batch, outcome| drop(done.send((batch, outcome)));
    loop {
        let mut batch = Vec::new();
        if waiting.blocking_recv_many(&mut batch, MAX_BATCH) == 0 {
            return;
        }
        let outcome = commit(db, &mut batch);
        if outcome.is_ok() || batch.len() == 1 {
            settle(batch, outcome);
            continue;
        }
        // A single write may have caused the error: each is tried alone.
        for mut job in batch {
            let outcome = commit(db, std::slice::from_mut(&mut job));
            settle(vec![job], outcome);
        }
    }
}

/// Wakes the callers and drops their jobs: for a large batch, that costs a tenth of the time of writing.
fn answer_all(settled: &answers::Receiver<SettledBatch>) {
    for (batch, outcome) in settled {
        for job in batch {
            job.respond(outcome.clone());
        }
    }
}

fn commit(db: &WriterCache, batch: &mut [Box<dyn WriteJob>]) -> Result<(), HubStoreError> {
    let done = try_commit(db, batch);
    if done.is_err() {
        db.clear();
    }
    done
}

fn try_commit(db: &WriterCache, batch: &mut [Box<dyn WriteJob>]) -> Result<(), HubStoreError> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    for job in batch {
        job.run(db)?;
    }
    fault::failpoint("hub.commit.before");
    transaction.commit()?;
    fault::failpoint("hub.commit.after");
    Ok(())
}
