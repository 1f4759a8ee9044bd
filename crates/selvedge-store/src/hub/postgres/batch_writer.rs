//! A writer: a connection that writes all waiting jobs as one transaction, and answers after its commit.
//!
//! Many callers thereby share one round trip to the server and one sync of its disk. If a batch cannot be
//! written, each job is tried alone. If the connection is lost during a commit, the writer's marker row shows
//! whether the transaction was committed, because every transaction writes its number there: no answer
//! contradicts the stored data. The server's transaction ids would not be reliable: after a crash, a server
//! reuses ids of transactions that had not reached its disk.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, Statement};
use uuid::Uuid;

use super::commit_marker::{last_commit_query, record_commit_query};
use super::connect::{Connector, PlanMode, is_lost, is_transient};
use crate::fault;
use crate::hub::error::HubStoreError;

/// Capacity of the queue of writes; when it is full, callers wait to enqueue.
const MAX_WAITING: usize = 4_096;
/// Maximum number of writes in one transaction.
const MAX_BATCH: usize = 256;
/// How long waiting callers wait for a lost server to return before they get an error.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two connection attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of tries of a transaction that conflicts with others.
const MAX_TRIES: usize = 5;

/// An operation that a writer executes in batches.
pub(super) trait BatchOp: Send + Sync + 'static {
    /// The input of one job.
    type Job: Send + Sync + 'static;
    /// The answer to one job.
    type Answer: Send + 'static;
    /// Statements that are prepared once for each connection.
    type Prepared: Send + Sync;
    /// Data that [`decide`](Self::decide) passes to [`commit`](Self::commit).
    type Draft: Send + Sync;

    /// Prepares a connection.
    fn prepare(client: &Client) -> impl Future<Output = Result<Self::Prepared, Error>> + Send;

    /// Begins a transaction, reads, locks and decides; writes nothing yet.
    fn decide(
        &self,
        link: &WriterConnection<Self::Prepared>,
        jobs: &[&Self::Job],
    ) -> impl Future<Output = Result<BatchDecision<Self::Answer, Self::Draft>, DecideError>> + Send;

    /// Writes the decision with the transaction's [marker](WriterConnection::record_commit), and commits.
    fn commit(
        &self,
        link: &WriterConnection<Self::Prepared>,
        draft: &Self::Draft,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection and its prepared statements.
pub(super) struct WriterConnection<P> {
    pub(super) client: Client,
    pub(super) prepared: P,
    record_commit: Statement,
    writer_id: Uuid,
    /// The number of the writer's current transaction.
    batch: i64,
}

impl<P> WriterConnection<P> {
    /// Records the transaction's number; part of every transaction that writes anything.
    pub(super) async fn record_commit(&self) -> Result<(), Error> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&self.writer_id, &self.batch];
        self.client
            .execute(&self.record_commit, &values)
            .await
            .map(drop)
    }
}

/// The decision of a transaction, to be written and answered.
pub(super) struct BatchDecision<A, D> {
    /// One answer for each job.
    pub(super) answers: Vec<A>,
    /// The data to write.
    pub(super) draft: D,
}

/// An error of the server, or invalid stored data.
pub(super) enum DecideError {
    /// An error of the server.
    Server(Error),
    /// Invalid stored data.
    Stored(HubStoreError),
}

impl From<Error> for DecideError {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl From<HubStoreError> for DecideError {
    fn from(error: HubStoreError) -> Self {
        Self::Stored(error)
    }
}

impl From<DecideError> for HubStoreError {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::Server(error) => error.into(),
            DecideError::Stored(error) => error,
        }
    }
}

type QueuedJob<W> = (
    <W as BatchOp>::Job,
    oneshot::Sender<Result<<W as BatchOp>::Answer, HubStoreError>>,
);

/// The callers' handle of a writer.
pub(super) struct BatchWriter<W: BatchOp> {
    jobs: mpsc::Sender<QueuedJob<W>>,
}

impl<W: BatchOp> fmt::Debug for BatchWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchWriter").finish_non_exhaustive()
    }
}

impl<W: BatchOp> BatchWriter<W> {
    pub(super) fn start(connector: Connector, work: Arc<W>) -> Self {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let far = BatchWriterTask {
            connector,
            op: work,
            writer_id: Uuid::new_v4(),
            batch: 0,
            connection: None,
            is_down: false,
        };
        tokio::spawn(far.run(waiting));
        Self { jobs }
    }

    pub(super) async fn write(&self, job: W::Job) -> Result<W::Answer, HubStoreError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.jobs.send((job, answer)).await;
        sent.map_err(|_| HubStoreError::Stopping)?;
        answered.await.map_err(|_| HubStoreError::Stopping)?
    }
}

struct BatchWriterTask<W: BatchOp> {
    connector: Connector,
    op: Arc<W>,
    writer_id: Uuid,
    /// The number of the latest transaction.
    batch: i64,
    connection: Option<WriterConnection<W::Prepared>>,
    /// The last batch could not reach the server: new callers fail without waiting.
    is_down: bool,
}

/// Why a transaction failed.
enum BatchError {
    /// A retry may succeed.
    Transient(Error),
    /// The connection was lost, and the transaction with it.
    ConnectionLost(HubStoreError),
    /// It cannot be written.
    Permanent(HubStoreError),
}

impl<W: BatchOp> BatchWriterTask<W> {
    async fn run(mut self, mut waiting: mpsc::Receiver<QueuedJob<W>>) {
        // Connects early, so that the first job does not wait; an error is reported to the first caller.
        self.connection = self.connect().await.ok();
        let mut batch = Vec::new();
        while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let jobs: Vec<&W::Job> = batch.iter().map(|(job, _)| job).collect();
            let outcome = self.write(&jobs).await;
            // The caller may have gone away; the write stays.
            match outcome {
                Ok(answers) => {
                    for ((_, waiting), answer) in batch.drain(..).zip(answers) {
                        let _ = waiting.send(Ok(answer));
                    }
                }
                Err(error) if batch.len() == 1 || self.is_down => {
                    for (_, waiting) in batch.drain(..) {
                        let _ = waiting.send(Err(error.clone()));
                    }
                }
                // A single job may have caused the error: each is tried alone.
                Err(_) => {
                    for (job, waiting) in batch.drain(..) {
                        let mut answers = self.write(&[&job]).await;
                        let answer = match &mut answers {
                            Ok(answers) => answers.pop().ok_or(HubStoreError::Stopping),
                            Err(error) => Err(error.clone()),
                        };
                        let _ = waiting.send(answer);
                    }
                }
            }
        }
    }

    /// Writes jobs as one transaction, and retries transient failures.
    async fn write(&mut self, jobs: &[&W::Job]) -> Result<Vec<W::Answer>, HubStoreError> {
        let until = Instant::now() + RECONNECT_TIMEOUT;
        let mut tries = 1;
        loop {
            match self.try_write(jobs).await {
                Ok(answers) => {
                    self.is_down = false;
                    return Ok(answers);
                }
                Err(BatchError::Transient(_)) if tries < MAX_TRIES => tries += 1,
                Err(BatchError::Transient(error)) => return Err(error.into()),
                Err(BatchError::Permanent(error)) => return Err(error),
                Err(BatchError::ConnectionLost(error)) => {
                    self.connection = None;
                    if self.is_down || Instant::now() >= until {
                        self.is_down = true;
                        return Err(error);
                    }
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn try_write(&mut self, jobs: &[&W::Job]) -> Result<Vec<W::Answer>, BatchError> {
        let work = Arc::clone(&self.op);
        self.batch += 1;
        let link = self.ensure_connected().await?;
        let decided = match work.decide(link, jobs).await {
            Ok(decided) => decided,
            Err(DecideError::Server(error)) => return Err(self.roll_back_failed(error).await),
            Err(DecideError::Stored(error)) => {
                self.roll_back().await;
                return Err(BatchError::Permanent(error));
            }
        };
        fault::failpoint("hub.commit.before");
        let committed = work.commit(link, &decided.draft).await;
        fault::failpoint("hub.commit.after");
        match committed {
            Ok(()) => Ok(decided.answers),
            Err(error) if is_lost(&error) => {
                self.connection = None;
                self.resolve_unknown_commit(error).await?;
                Ok(decided.answers)
            }
            Err(error) => Err(self.roll_back_failed(error).await),
        }
    }

    async fn ensure_connected(&mut self) -> Result<&WriterConnection<W::Prepared>, BatchError> {
        let link = match self
            .connection
            .take()
            .filter(|link| !link.client.is_closed())
        {
            Some(link) => link,
            None => self.connect().await.map_err(classify_error)?,
        };
        let link = self.connection.insert(link);
        link.batch = self.batch;
        Ok(link)
    }

    async fn connect(&self) -> Result<WriterConnection<W::Prepared>, Error> {
        let client = self.connector.client().await?;
        client.batch_execute(PlanMode::ByKey.setup()).await?;
        Ok(WriterConnection {
            record_commit: client.prepare(&record_commit_query()).await?,
            prepared: W::prepare(&client).await?,
            client,
            writer_id: self.writer_id,
            batch: self.batch,
        })
    }

    async fn roll_back_failed(&mut self, error: Error) -> BatchError {
        if is_lost(&error) {
            return BatchError::ConnectionLost(error.into());
        }
        self.roll_back().await;
        if is_transient(&error) {
            BatchError::Transient(error)
        } else {
            BatchError::Permanent(error.into())
        }
    }

    async fn roll_back(&mut self) {
        if let Some(link) = &self.connection
            && link.client.batch_execute("ROLLBACK").await.is_err()
        {
            self.connection = None;
        }
    }

    /// Finds out whether a transaction was committed whose commit was not answered.
    async fn resolve_unknown_commit(&mut self, error: Error) -> Result<(), BatchError> {
        let until = Instant::now() + RECONNECT_TIMEOUT;
        loop {
            match self.last_commit().await {
                Ok(last) if last == self.batch => return Ok(()),
                Ok(_) => return Err(BatchError::ConnectionLost(error.into())),
                // The server is still committing, and has not noticed the lost connection.
                Err(BatchError::Transient(_)) => {}
                Err(failed @ BatchError::Permanent(_)) => return Err(failed),
                Err(failed) if Instant::now() >= until => return Err(failed),
                Err(_) => {}
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// The writer's last committed transaction. Afterwards the latest one can no longer be committed.
    async fn last_commit(&mut self) -> Result<i64, BatchError> {
        let (writer_id, batch) = (self.writer_id, self.batch);
        let link = self.ensure_connected().await?;
        let row = link
            .client
            .query_one(&last_commit_query(), &[&writer_id, &batch])
            .await;
        row.map(|row| row.get(0)).map_err(|error| {
            if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                BatchError::Transient(error)
            } else {
                classify_error(error)
            }
        })
    }
}

fn classify_error(error: Error) -> BatchError {
    if is_lost(&error) || error.code().is_none() {
        BatchError::ConnectionLost(error.into())
    } else {
        BatchError::Permanent(error.into())
    }
}
