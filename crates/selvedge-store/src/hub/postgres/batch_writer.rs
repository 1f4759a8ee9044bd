//! A lane: a connection that writes whatever waits as one transaction, and answers after its commit.
//!
//! Many callers so share one trip to the server and one sync of its disk. A batch that cannot be
//! written is tried one job at a time. When the connection is lost while a commit is under way, the
//! lane's own row tells what became of it, for every transaction writes its number there: nobody is told
//! something else than what is kept. The server's numbers of transactions would not do. One that died
//! gives those out again of which nothing had come to its disk.

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
use super::connect::{Connector, is_lost, is_transient};
use crate::fault;
use crate::hub::error::HubStoreError;

/// Writes that may wait; whoever comes then waits outside.
const MAX_WAITING: usize = 4_096;
/// Writes of one transaction.
const MAX_BATCH: usize = 256;
/// How long those who wait do so for a server that went away, before they are told.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two tries.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How often a transaction is tried that others got in the way of.
const MAX_TRIES: usize = 5;

/// What is written in a lane, and how.
pub(super) trait BatchOp: Send + Sync + 'static {
    /// What is asked.
    type Job: Send + Sync + 'static;
    /// What is answered.
    type Answer: Send + 'static;
    /// What the server prepares once for each connection.
    type Prepared: Send + Sync;
    /// What the second step needs of the first.
    type Draft: Send + Sync;

    /// Prepares a connection.
    fn prepare(client: &Client) -> impl Future<Output = Result<Self::Prepared, Error>> + Send;

    /// Begins a transaction, reads, locks and decides: nothing is kept yet.
    fn decide(
        &self,
        link: &WriterConnection<Self::Prepared>,
        jobs: &[&Self::Job],
    ) -> impl Future<Output = Result<BatchDecision<Self::Answer, Self::Draft>, DecideError>> + Send;

    /// Writes what was decided with the transaction's [mark](Link::mark), and commits.
    fn commit(
        &self,
        link: &WriterConnection<Self::Prepared>,
        draft: &Self::Draft,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection, and what it prepared.
pub(super) struct WriterConnection<P> {
    pub(super) client: Client,
    pub(super) prepared: P,
    record_commit: Statement,
    writer_id: Uuid,
    /// The number of its lane's transaction that is under way.
    batch: i64,
}

impl<P> WriterConnection<P> {
    /// Writes down which transaction this is: part of every one that writes anything.
    pub(super) async fn record_commit(&self) -> Result<(), Error> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&self.writer_id, &self.batch];
        self.client
            .execute(&self.record_commit, &values)
            .await
            .map(drop)
    }
}

/// What a transaction comes to once it is committed.
pub(super) struct BatchDecision<A, D> {
    /// For each job.
    pub(super) answers: Vec<A>,
    /// What is to be written.
    pub(super) draft: D,
}

/// The server's error, or one of what it keeps.
pub(super) enum DecideError {
    /// The server's.
    Server(Error),
    /// What is kept cannot be.
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

/// The near end of a lane.
pub(super) struct BatchWriter<W: BatchOp> {
    jobs: mpsc::Sender<QueuedJob<W>>,
}

impl<W: BatchOp> fmt::Debug for BatchWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
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
    /// How many transactions there were: the number of the latest.
    batch: i64,
    connection: Option<WriterConnection<W::Prepared>>,
    /// The last batch found no server: those who come now are not kept waiting.
    is_down: bool,
}

/// Why a transaction did not count.
enum BatchError {
    /// It may when it is tried again.
    Transient(Error),
    /// The connection was lost, and the transaction with it.
    ConnectionLost(HubStoreError),
    /// It cannot be written.
    Permanent(HubStoreError),
}

impl<W: BatchOp> BatchWriterTask<W> {
    async fn run(mut self, mut waiting: mpsc::Receiver<QueuedJob<W>>) {
        // The first who comes need not wait for it; whoever finds no server then says so.
        self.connection = self.connect().await.ok();
        let mut batch = Vec::new();
        while waiting.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let jobs: Vec<&W::Job> = batch.iter().map(|(job, _)| job).collect();
            let outcome = self.write(&jobs).await;
            // Whoever asked may have gone away; what was written stays written.
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
                // One of them may be what cannot be written: each for itself.
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

    /// Writes some jobs as one transaction, and tries again what may go through then.
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
        client.batch_execute(FORCE_INDEX_PLANS).await?;
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

    /// Finds out whether the transaction was committed whose commit was not answered.
    async fn resolve_unknown_commit(&mut self, error: Error) -> Result<(), BatchError> {
        let until = Instant::now() + RECONNECT_TIMEOUT;
        loop {
            match self.last_commit().await {
                Ok(last) if last == self.batch => return Ok(()),
                Ok(_) => return Err(BatchError::ConnectionLost(error.into())),
                // The server is at its commit, and has not noticed that nobody waits for it.
                Err(BatchError::Transient(_)) => {}
                Err(failed @ BatchError::Permanent(_)) => return Err(failed),
                Err(failed) if Instant::now() >= until => return Err(failed),
                Err(_) => {}
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// The last transaction of this lane that was committed; the latest cannot be any more.
    async fn last_commit(&mut self) -> Result<i64, BatchError> {
        let (lane, batch) = (self.writer_id, self.batch);
        let link = self.ensure_connected().await?;
        let row = link
            .client
            .query_one(&last_commit_query(), &[&lane, &batch])
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

/// Everything in a lane is found by its key. Plans made while a table was empty would read all of it
/// later on.
const FORCE_INDEX_PLANS: &str = "
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off";

fn classify_error(error: Error) -> BatchError {
    if is_lost(&error) || error.code().is_none() {
        BatchError::ConnectionLost(error.into())
    } else {
        BatchError::Permanent(error.into())
    }
}
