//! The one thread that writes: a batch is one transaction, and nobody is answered before its commit. A second
//! thread gives the answers, while the first is at the next batch.

use std::fmt;
use std::sync::mpsc as answers;
use std::thread;

use rusqlite::{Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::writer_cache::WriterCache;
use crate::fault;
use crate::hub::error::HubStoreError;

/// Writes that may wait; whoever comes then waits outside.
const MAX_WAITING: usize = 4_096;
/// Writes of one transaction.
const MAX_BATCH: usize = 2_048;

pub(super) struct SqliteWriter {
    jobs: mpsc::Sender<Box<dyn WriteJob>>,
}

impl fmt::Debug for SqliteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// Writes that came to this.
type SettledBatch = (Vec<Box<dyn WriteJob>>, Result<(), HubStoreError>);

/// A write, and whoever waits for it.
trait WriteJob: Send {
    /// Writes; may be called again after a transaction that was rolled back.
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
        // Whoever asked may have gone away; what was written stays written.
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
    // Whoever answers is there for as long as this is.
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
        // One of them may be what cannot be written: each for itself.
        for mut job in batch {
            let outcome = commit(db, std::slice::from_mut(&mut job));
            settle(vec![job], outcome);
        }
    }
}

/// Wakes who waits, and drops what was asked: with many of them, a tenth of what writing costs.
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
