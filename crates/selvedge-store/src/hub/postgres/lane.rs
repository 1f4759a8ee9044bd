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

use super::connect::{Connector, is_lost, is_passing};
use super::mark::{last, mark};
use crate::fault;
use crate::hub::error::HubStoreError;

/// Writes that may wait; whoever comes then waits outside.
const WAITING: usize = 4_096;
/// Writes of one transaction.
const BATCH: usize = 256;
/// How long those who wait do so for a server that went away, before they are told.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a transaction is tried that others got in the way of.
const TRIES: usize = 5;

/// What is written in a lane, and how.
pub(super) trait Work: Send + Sync + 'static {
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
        link: &Link<Self::Prepared>,
        jobs: &[&Self::Job],
    ) -> impl Future<Output = Result<Decided<Self::Answer, Self::Draft>, HubStoreErrorOr>> + Send;

    /// Writes what was decided with the transaction's [mark](Link::mark), and commits.
    fn commit(
        &self,
        link: &Link<Self::Prepared>,
        draft: &Self::Draft,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection, and what it prepared.
pub(super) struct Link<P> {
    pub(super) client: Client,
    pub(super) prepared: P,
    mark: Statement,
    lane: Uuid,
    /// The number of its lane's transaction that is under way.
    batch: i64,
}

impl<P> Link<P> {
    /// Writes down which transaction this is: part of every one that writes anything.
    pub(super) async fn mark(&self) -> Result<(), Error> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&self.lane, &self.batch];
        self.client.execute(&self.mark, &values).await.map(drop)
    }
}

/// What a transaction comes to once it is committed.
pub(super) struct Decided<A, D> {
    /// For each job.
    pub(super) answers: Vec<A>,
    /// What is to be written.
    pub(super) draft: D,
}

/// The server's error, or one of what it keeps.
pub(super) enum HubStoreErrorOr {
    /// The server's.
    Server(Error),
    /// What is kept cannot be.
    Kept(HubStoreError),
}

impl From<Error> for HubStoreErrorOr {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl From<HubStoreError> for HubStoreErrorOr {
    fn from(error: HubStoreError) -> Self {
        Self::Kept(error)
    }
}

impl From<HubStoreErrorOr> for HubStoreError {
    fn from(error: HubStoreErrorOr) -> Self {
        match error {
            HubStoreErrorOr::Server(error) => error.into(),
            HubStoreErrorOr::Kept(error) => error,
        }
    }
}

type Waiting<W> = (
    <W as Work>::Job,
    oneshot::Sender<Result<<W as Work>::Answer, HubStoreError>>,
);

/// The near end of a lane.
pub(super) struct Lane<W: Work> {
    jobs: mpsc::Sender<Waiting<W>>,
}

impl<W: Work> fmt::Debug for Lane<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

impl<W: Work> Lane<W> {
    pub(super) fn start(connector: Connector, work: Arc<W>) -> Self {
        let (jobs, waiting) = mpsc::channel(WAITING);
        let far = FarEnd {
            connector,
            work,
            lane: Uuid::new_v4(),
            batch: 0,
            link: None,
            down: false,
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

struct FarEnd<W: Work> {
    connector: Connector,
    work: Arc<W>,
    lane: Uuid,
    /// How many transactions there were: the number of the latest.
    batch: i64,
    link: Option<Link<W::Prepared>>,
    /// The last batch found no server: those who come now are not kept waiting.
    down: bool,
}

/// Why a transaction did not count.
enum Failed {
    /// It may when it is tried again.
    Passing(Error),
    /// The connection was lost, and the transaction with it.
    Lost(HubStoreError),
    /// It cannot be written.
    Never(HubStoreError),
}

impl<W: Work> FarEnd<W> {
    async fn run(mut self, mut waiting: mpsc::Receiver<Waiting<W>>) {
        // The first who comes need not wait for it; whoever finds no server then says so.
        self.link = self.connected().await.ok();
        let mut batch = Vec::new();
        while waiting.recv_many(&mut batch, BATCH).await > 0 {
            let jobs: Vec<&W::Job> = batch.iter().map(|(job, _)| job).collect();
            let outcome = self.write(&jobs).await;
            // Whoever asked may have gone away; what was written stays written.
            match outcome {
                Ok(answers) => {
                    for ((_, waiting), answer) in batch.drain(..).zip(answers) {
                        let _ = waiting.send(Ok(answer));
                    }
                }
                Err(error) if batch.len() == 1 || self.down => {
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
        let until = Instant::now() + PATIENCE;
        let mut tries = 1;
        loop {
            match self.attempt(jobs).await {
                Ok(answers) => {
                    self.down = false;
                    return Ok(answers);
                }
                Err(Failed::Passing(_)) if tries < TRIES => tries += 1,
                Err(Failed::Passing(error)) => return Err(error.into()),
                Err(Failed::Never(error)) => return Err(error),
                Err(Failed::Lost(error)) => {
                    self.link = None;
                    if self.down || Instant::now() >= until {
                        self.down = true;
                        return Err(error);
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn attempt(&mut self, jobs: &[&W::Job]) -> Result<Vec<W::Answer>, Failed> {
        let work = Arc::clone(&self.work);
        self.batch += 1;
        let link = self.link().await?;
        let decided = match work.decide(link, jobs).await {
            Ok(decided) => decided,
            Err(HubStoreErrorOr::Server(error)) => return Err(self.rolled_back(error).await),
            Err(HubStoreErrorOr::Kept(error)) => {
                self.roll_back().await;
                return Err(Failed::Never(error));
            }
        };
        fault::reached("hub.commit.before");
        let committed = work.commit(link, &decided.draft).await;
        fault::reached("hub.commit.after");
        match committed {
            Ok(()) => Ok(decided.answers),
            Err(error) if is_lost(&error) => {
                self.link = None;
                self.became_of(error).await?;
                Ok(decided.answers)
            }
            Err(error) => Err(self.rolled_back(error).await),
        }
    }

    async fn link(&mut self) -> Result<&Link<W::Prepared>, Failed> {
        let link = match self.link.take().filter(|link| !link.client.is_closed()) {
            Some(link) => link,
            None => self.connected().await.map_err(lost_or_never)?,
        };
        let link = self.link.insert(link);
        link.batch = self.batch;
        Ok(link)
    }

    async fn connected(&self) -> Result<Link<W::Prepared>, Error> {
        let client = self.connector.client().await?;
        client.batch_execute(BY_KEY).await?;
        Ok(Link {
            mark: client.prepare(&mark()).await?,
            prepared: W::prepare(&client).await?,
            client,
            lane: self.lane,
            batch: self.batch,
        })
    }

    async fn rolled_back(&mut self, error: Error) -> Failed {
        if is_lost(&error) {
            return Failed::Lost(error.into());
        }
        self.roll_back().await;
        if is_passing(&error) {
            Failed::Passing(error)
        } else {
            Failed::Never(error.into())
        }
    }

    async fn roll_back(&mut self) {
        if let Some(link) = &self.link
            && link.client.batch_execute("ROLLBACK").await.is_err()
        {
            self.link = None;
        }
    }

    /// Finds out whether the transaction was committed whose commit was not answered.
    async fn became_of(&mut self, error: Error) -> Result<(), Failed> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.last().await {
                Ok(last) if last == self.batch => return Ok(()),
                Ok(_) => return Err(Failed::Lost(error.into())),
                // The server is at its commit, and has not noticed that nobody waits for it.
                Err(Failed::Passing(_)) => {}
                Err(failed @ Failed::Never(_)) => return Err(failed),
                Err(failed) if Instant::now() >= until => return Err(failed),
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    /// The last transaction of this lane that was committed; the latest cannot be any more.
    async fn last(&mut self) -> Result<i64, Failed> {
        let (lane, batch) = (self.lane, self.batch);
        let link = self.link().await?;
        let row = link.client.query_one(&last(), &[&lane, &batch]).await;
        row.map(|row| row.get(0)).map_err(|error| {
            if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                Failed::Passing(error)
            } else {
                lost_or_never(error)
            }
        })
    }
}

/// Everything in a lane is found by its key. Plans made while a table was empty would read all of it
/// later on.
const BY_KEY: &str = "
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off";

fn lost_or_never(error: Error) -> Failed {
    if is_lost(&error) || error.code().is_none() {
        Failed::Lost(error.into())
    } else {
        Failed::Never(error.into())
    }
}
