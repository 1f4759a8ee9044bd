//! Runs one session: starts the program, captures its output, enforces the time limits, handles
//! cancellation, and waits until the tree is gone. The result is always a [`SessionExit`].

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::capture::{CapturePlan, CapturedStream, OutputReader};
use super::session::{PreparedSession, Session, SessionEvent, StartError, SupervisorLostError};
use super::session_exit::{EndReason, ProcessExit, SessionExit, TreeReport};
use super::timeouts::{self, Heartbeat, SessionTimeouts};

/// How long the output may stay open after the tree is gone: only a process outside the tree can
/// hold it then.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a supervisor may take for killing, in addition to the grace periods, until it counts as
/// lost. Longer than its own limit for reporting survivors.
const KILL_TIMEOUT: Duration = Duration::from_secs(20);

/// Starts the prepared program and returns when it has ended and its tree is gone. Dropping the
/// future kills the tree.
///
/// Cancelling stops the session as its command specifies (a signal, then the grace period, then
/// SIGKILL).
pub async fn run(
    mut prepared: PreparedSession,
    limits: SessionTimeouts,
    plan: CapturePlan,
    cancel: &CancellationToken,
) -> SessionExit {
    let started = Instant::now();
    let heartbeat = Heartbeat::new();
    let pipes = prepared.session.take_pipes();
    let redactor = &prepared.session.redactor;
    let pump = match OutputReader::start(plan, pipes, heartbeat.clone(), redactor) {
        Ok(pump) => pump,
        Err(error) => return SessionExit::not_started(EndReason::CaptureFailed(error), started),
    };
    if cancel.is_cancelled() {
        return SessionExit::not_started(EndReason::Cancelled, started);
    }
    let start = prepared.start_program().await;
    if let Err(StartError::Spawn(failure)) = start {
        return SessionExit::not_started(EndReason::SpawnFailed(failure), started);
    }
    let mut watch = SessionMonitor {
        session: prepared.session,
        reader: pump,
        limits,
        heartbeat,
        stop_reason: None,
        stopped_at: None,
        exit: None,
    };
    let over = match start {
        Ok(()) => watch.run_until_over(cancel).await,
        // The supervisor may have been lost just after it started the program.
        Err(_) => Err(SupervisorLostError),
    };
    watch.into_exit(over, started).await
}

struct SessionMonitor {
    session: Session,
    reader: OutputReader,
    limits: SessionTimeouts,
    heartbeat: Heartbeat,
    /// Why the session was stopped, if it was.
    stop_reason: Option<EndReason>,
    stopped_at: Option<Instant>,
    exit: Option<ProcessExit>,
}

impl SessionMonitor {
    /// Runs until the tree is gone. Time limits and cancellation apply only while the program
    /// itself runs: leftover processes have a short grace period of their own.
    async fn run_until_over(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<TreeReport, SupervisorLostError> {
        let stopped = tokio::select! {
            biased;
            event = self.session.next_event() => match event? {
                SessionEvent::Exited(exit) => {
                    self.exit = Some(exit);
                    None
                }
                SessionEvent::Over(tree) => return Ok(tree),
            },
            error = self.reader.wait_for_failure() => Some(EndReason::CaptureFailed(error)),
            () = cancel.cancelled() => Some(EndReason::Cancelled),
            () = timeouts::sleep_or_forever(self.limits.wall) => Some(EndReason::TimedOut),
            () = self.heartbeat.wait_until_idle(self.limits.idle) => Some(EndReason::IdleTimeout),
        };
        if stopped.is_some() {
            self.stop_reason = stopped;
            self.stopped_at = Some(Instant::now());
            self.session.stop().await;
        }
        let patience = self.session.total_grace.saturating_add(KILL_TIMEOUT);
        tokio::time::timeout(patience, self.wait_until_over())
            .await
            .map_err(|_| SupervisorLostError)
            .flatten()
    }

    async fn wait_until_over(&mut self) -> Result<TreeReport, SupervisorLostError> {
        loop {
            match self.session.next_event().await? {
                // A supervisor reports one exit: with a second one, one of the two is forged.
                SessionEvent::Exited(_) if self.exit.is_some() => return Err(SupervisorLostError),
                SessionEvent::Exited(exit) => self.exit = Some(exit),
                SessionEvent::Over(tree) => return Ok(tree),
            }
        }
    }

    async fn into_exit(
        self,
        over: Result<TreeReport, SupervisorLostError>,
        started: Instant,
    ) -> SessionExit {
        let wall = started.elapsed();
        let lost = over.is_err();
        let tree = match over {
            Ok(tree) => {
                self.session.release();
                tree
            }
            Err(SupervisorLostError) => self.session.kill_leftovers().await,
        };
        let (stdout, stderr, failure) = self.reader.finish(DRAIN_TIMEOUT).await;
        let how = match (self.stop_reason, failure, lost, self.exit) {
            (Some(why), ..) => why,
            (None, Some(error), ..) => EndReason::CaptureFailed(error),
            (None, None, false, Some(ProcessExit::Code(code))) => EndReason::Exited(code),
            (None, None, false, Some(ProcessExit::Signal(signal))) => EndReason::Signalled(signal),
            (None, None, true, _) | (None, None, false, None) => EndReason::SupervisorLost,
        };
        SessionExit {
            reason: how,
            exit: self.exit,
            stopped_at: self.stopped_at,
            tree,
            wall,
            stdout,
            stderr,
        }
    }
}

impl SessionExit {
    /// The exit of a session whose program never ran.
    fn not_started(how: EndReason, started: Instant) -> Self {
        Self {
            reason: how,
            exit: None,
            stopped_at: None,
            tree: TreeReport::empty(),
            wall: started.elapsed(),
            stdout: CapturedStream::default(),
            stderr: CapturedStream::default(),
        }
    }
}
