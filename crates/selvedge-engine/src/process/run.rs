//! Carrying one session through: start the program, capture its output, watch the clocks and the
//! caller's wish to cancel, and see the tree gone. Whatever happens, the answer is an [`Ended`].

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::capture::{Captured, Plan, Pump};
use super::clocks::{self, Heartbeat, Limits};
use super::ended::{Ended, Exit, How, TreeReport};
use super::session::{Lost, News, Prepared, Session, StartError};

/// How long the output may stay open once the tree is gone: only a process outside the tree can
/// hold it then.
const DRAIN: Duration = Duration::from_millis(500);

/// How long a supervisor may take for killing beyond the graces, until it counts as lost. More than
/// it gives itself before it reports survivors.
const KILLING: Duration = Duration::from_secs(20);

/// Starts the prepared program and returns when it has ended and its tree is gone. Dropping the
/// future kills the tree.
///
/// Cancelling stops the session as the command says (a signal, then its grace, then SIGKILL).
pub async fn run(
    mut prepared: Prepared,
    limits: Limits,
    plan: Plan,
    cancel: &CancellationToken,
) -> Ended {
    let started = Instant::now();
    let heartbeat = Heartbeat::new();
    let pipes = prepared.session.take_pipes();
    let redactor = &prepared.session.redactor;
    let pump = match Pump::start(plan, pipes, heartbeat.clone(), redactor) {
        Ok(pump) => pump,
        Err(error) => return Ended::before_start(How::CaptureFailed(error), started),
    };
    if cancel.is_cancelled() {
        return Ended::before_start(How::Cancelled, started);
    }
    let start = prepared.go().await;
    if let Err(StartError::Spawn(failure)) = start {
        return Ended::before_start(How::SpawnFailed(failure), started);
    }
    let mut watch = Watch {
        session: prepared.session,
        pump,
        limits,
        heartbeat,
        stopped: None,
        stopped_at: None,
        exit: None,
    };
    let over = match start {
        Ok(()) => watch.until_over(cancel).await,
        // It may have been lost just after it started the program.
        Err(_) => Err(Lost),
    };
    watch.conclude(over, started).await
}

struct Watch {
    session: Session,
    pump: Pump,
    limits: Limits,
    heartbeat: Heartbeat,
    /// Why the session was stopped, if it was.
    stopped: Option<How>,
    stopped_at: Option<Instant>,
    exit: Option<Exit>,
}

impl Watch {
    /// Runs until the tree is gone. Only while the program itself runs do the clocks and the
    /// caller count: what it leaves behind has a short grace of its own.
    async fn until_over(&mut self, cancel: &CancellationToken) -> Result<TreeReport, Lost> {
        let stopped = tokio::select! {
            biased;
            news = self.session.news() => match news? {
                News::Exited(exit) => {
                    self.exit = Some(exit);
                    None
                }
                News::Over(tree) => return Ok(tree),
            },
            error = self.pump.failed() => Some(How::CaptureFailed(error)),
            () = cancel.cancelled() => Some(How::Cancelled),
            () = clocks::after(self.limits.wall) => Some(How::TimedOut),
            () = self.heartbeat.silence(self.limits.silence) => Some(How::Silent),
        };
        if stopped.is_some() {
            self.stopped = stopped;
            self.stopped_at = Some(Instant::now());
            self.session.stop().await;
        }
        let patience = self.session.graces.saturating_add(KILLING);
        tokio::time::timeout(patience, self.over())
            .await
            .map_err(|_| Lost)
            .flatten()
    }

    async fn over(&mut self) -> Result<TreeReport, Lost> {
        loop {
            match self.session.news().await? {
                // A supervisor reports one exit: a second one is forged, or the first one was.
                News::Exited(_) if self.exit.is_some() => return Err(Lost),
                News::Exited(exit) => self.exit = Some(exit),
                News::Over(tree) => return Ok(tree),
            }
        }
    }

    async fn conclude(self, over: Result<TreeReport, Lost>, started: Instant) -> Ended {
        let wall = started.elapsed();
        let lost = over.is_err();
        let tree = match over {
            Ok(tree) => {
                self.session.release();
                tree
            }
            Err(Lost) => self.session.sweep().await,
        };
        let (stdout, stderr, failure) = self.pump.finish(DRAIN).await;
        let how = match (self.stopped, failure, lost, self.exit) {
            (Some(why), ..) => why,
            (None, Some(error), ..) => How::CaptureFailed(error),
            (None, None, false, Some(Exit::Code(code))) => How::Exited(code),
            (None, None, false, Some(Exit::Signal(signal))) => How::Signalled(signal),
            (None, None, true, _) | (None, None, false, None) => How::Lost,
        };
        Ended {
            how,
            exit: self.exit,
            stopped_at: self.stopped_at,
            tree,
            wall,
            stdout,
            stderr,
        }
    }
}

impl Ended {
    /// Of a session whose program never ran.
    fn before_start(how: How, started: Instant) -> Self {
        Self {
            how,
            exit: None,
            stopped_at: None,
            tree: TreeReport::nothing_started(),
            wall: started.elapsed(),
            stdout: Captured::default(),
            stderr: Captured::default(),
        }
    }
}
