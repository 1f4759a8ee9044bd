//! The main program's end of one session: starts the supervisor, lets it start the program, and
//! receives its events. Dropping any of these types closes the control socket, and the supervisor
//! then kills what is running: a tree cannot be left behind by accident.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use selvedge_core::redact::Redactor;
use tokio::net::unix::pipe;

use super::command::{SessionCommand, StderrMode, Supervisor};
use super::pool::{PooledSupervisor, SupervisorPool};
use super::process_cleanup::kill_lost_session;
use super::session_exit::{ProcessExit, SpawnError, TreeReport};
use super::wire::{SessionSpec, SupervisorMessage, SupervisorOrder};

/// A supervisor that has not answered after this time counts as lost. Generous, because the machine
/// may be busy.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A larger pipe means fewer context switches between a program with much output and the reader.
/// The pipes of an unprivileged user may hold 64 MiB together, which other programs need too.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;

/// A supervisor that is ready and has not started anything yet.
#[derive(Debug)]
#[must_use = "dropping it ends the session before it began"]
pub struct PreparedSession {
    pub(super) session: Session,
}

/// A running program.
#[derive(Debug)]
#[must_use = "dropping it kills the whole process tree"]
pub struct Session {
    supervisor: PooledSupervisor,
    /// The pool that gets the supervisor when nothing is left of the tree.
    pool: SupervisorPool,
    /// Whether the tree is gone.
    is_gone: bool,
    tag: String,
    output: Option<(PipeReader, Option<PipeReader>)>,
    /// Redacts the output.
    pub(super) redactor: Redactor,
    /// How long a stop may take until the supervisor kills the remaining processes.
    pub(super) total_grace: Duration,
}

/// Why no supervisor is ready. All causes are infrastructure failures.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Out of processes, memory or descriptors, or the program is missing.
    #[error("cannot start the supervisor {program}: {source}")]
    Spawn {
        /// The program that was to be started.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// Out of descriptors.
    #[error("cannot create a pipe: {0}")]
    Pipe(io::Error),
    /// The supervisor started and reported why it cannot continue.
    #[error("the supervisor {0}")]
    Refused(String),
    /// The supervisor ended, or did not answer for a minute.
    #[error("the supervisor does not answer")]
    SupervisorLost,
}

/// Why a prepared session's program does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program itself could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The supervisor died.
    #[error(transparent)]
    SupervisorLost(#[from] SupervisorLostError),
}

/// The supervisor died without reporting that the tree is gone.
#[derive(Debug, thiserror::Error)]
#[error("the supervisor was lost")]
pub struct SupervisorLostError;

/// An event of a session.
#[derive(Debug)]
pub(super) enum SessionEvent {
    Exited(ProcessExit),
    /// The last event: the tree is gone, or the remaining processes cannot be ended.
    Over(TreeReport),
}

impl Session {
    /// Starts a supervisor or takes an idle one, and waits until it holds the lock and is ready to
    /// start the command.
    pub async fn prepare(
        supervisor: &Supervisor,
        command: &SessionCommand,
    ) -> Result<PreparedSession, PrepareError> {
        if let Some(waiting) = supervisor.pool.take() {
            match Self::configure(waiting, supervisor, command).await {
                // A supervisor that died, or still removes what the last session left, has not started anything: take
                // another one.
                Err(PrepareError::SupervisorLost) => {}
                answer => return answer,
            }
        }
        // The run's part of the tag: a supervisor may serve many sessions.
        let run = command.tag.split('.').next().unwrap_or_default();
        let started = PooledSupervisor::start(supervisor, run);
        let member = started.map_err(|source| {
            let program = supervisor.program.display().to_string();
            PrepareError::Spawn { program, source }
        })?;
        Self::configure(member, supervisor, command).await
    }

    /// Sends a supervisor the specification of its session.
    async fn configure(
        mut supervisor: PooledSupervisor,
        through: &Supervisor,
        command: &SessionCommand,
    ) -> Result<PreparedSession, PrepareError> {
        let ((stdout, stderr), writing) =
            session_pipes(command.streams).map_err(PrepareError::Pipe)?;
        let ready = async {
            let spec = SessionSpec::new(command, through.sandbox.as_ref());
            let sent = supervisor
                .control
                .send_with_descriptors(&spec, &writing)
                .await;
            sent.map_err(|_| PrepareError::SupervisorLost)?;
            match supervisor.control.next_message().await {
                Ok(SupervisorMessage::Ready) => Ok(()),
                Ok(SupervisorMessage::Refused { message }) => Err(PrepareError::Refused(message)),
                Ok(_) | Err(SupervisorLostError) => Err(PrepareError::SupervisorLost),
            }
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, ready).await;
        answer.map_err(|_| PrepareError::SupervisorLost).flatten()?;
        // Only the program may hold these ends: their closing marks the end of its output.
        drop(writing);
        let session = Self {
            supervisor,
            pool: through.pool.clone(),
            is_gone: false,
            tag: command.tag.clone(),
            output: Some((stdout, stderr)),
            redactor: through.redactor.clone(),
            total_grace: command.grace.saturating_add(command.leftover_grace),
        };
        Ok(PreparedSession { session })
    }

    /// Standard output and standard error (`None` if merged) for a caller that reads them itself.
    /// Returns `None` after the first call. The program blocks if they are not read.
    pub fn take_output(&mut self) -> Option<io::Result<(pipe::Receiver, Option<pipe::Receiver>)>> {
        let (stdout, stderr) = self.output.take()?;
        let receiver = |pipe: PipeReader| pipe::Receiver::from_owned_fd(pipe.into());
        let both = || Ok((receiver(stdout)?, stderr.map(receiver).transpose()?));
        Some(both())
    }

    pub(super) fn take_pipes(&mut self) -> Option<(PipeReader, Option<PipeReader>)> {
        self.output.take()
    }

    /// Asks the tree to stop; it is killed after the command's grace period.
    pub async fn stop(&mut self) {
        self.supervisor
            .control
            .send_order(SupervisorOrder::Stop)
            .await;
    }

    /// Kills the tree at once.
    pub async fn kill(&mut self) {
        self.supervisor
            .control
            .send_order(SupervisorOrder::Kill)
            .await;
    }

    /// Returns the next event. Cancel safe.
    pub(super) async fn next_event(&mut self) -> Result<SessionEvent, SupervisorLostError> {
        match self.supervisor.control.next_message().await? {
            SupervisorMessage::Exited(exit) => Ok(SessionEvent::Exited(exit)),
            SupervisorMessage::Gone(tree) => {
                self.is_gone = true;
                Ok(SessionEvent::Over(tree))
            }
            SupervisorMessage::Surviving(tree) => Ok(SessionEvent::Over(tree)),
            SupervisorMessage::Ready
            | SupervisorMessage::Refused { .. }
            | SupervisorMessage::Started { .. }
            | SupervisorMessage::SpawnFailed(_) => Err(SupervisorLostError),
        }
    }

    /// Returns the supervisor to the pool, if nothing is left of this session's tree.
    pub fn release(self) {
        if self.is_gone {
            self.pool.put(self.supervisor);
        }
    }

    /// Ends the processes left by a supervisor that died or no longer answers.
    pub async fn kill_leftovers(mut self) -> TreeReport {
        let pid = self.supervisor.child.id();
        let supervisor = pid.and_then(|pid| i32::try_from(pid).ok());
        let _ = self.supervisor.child.kill().await;
        let tag = std::mem::take(&mut self.tag);
        let killed = tokio::task::spawn_blocking(move || kill_lost_session(&tag, supervisor));
        killed.await.unwrap_or_else(|_| TreeReport::empty())
    }
}

impl PreparedSession {
    /// The supervisor's process id.
    pub fn supervisor_pid(&self) -> Option<u32> {
        self.session.supervisor.child.id()
    }

    /// Starts the program.
    pub async fn start(mut self) -> Result<Session, StartError> {
        self.start_program().await?;
        Ok(self.session)
    }

    pub(super) async fn start_program(&mut self) -> Result<(), StartError> {
        self.session
            .supervisor
            .control
            .send_order(SupervisorOrder::Go)
            .await;
        let answer = tokio::time::timeout(
            ANSWER_TIMEOUT,
            self.session.supervisor.control.next_message(),
        )
        .await;
        match answer.map_err(|_| SupervisorLostError)?? {
            SupervisorMessage::Started { .. } => Ok(()),
            SupervisorMessage::SpawnFailed(failure) => Err(failure.into()),
            _ => Err(SupervisorLostError.into()),
        }
    }
}

type SessionPipes = (PipeReader, Option<PipeReader>);

/// The pipes of a session: the ends that are read here, and the ends that the program writes to.
fn session_pipes(streams: StderrMode) -> io::Result<(SessionPipes, Vec<OwnedFd>)> {
    let (stdout, stdout_write) = output_pipe()?;
    if streams == StderrMode::Merged {
        return Ok(((stdout, None), vec![stdout_write.into()]));
    }
    let (stderr, stderr_write) = output_pipe()?;
    let writing = vec![stdout_write.into(), stderr_write.into()];
    Ok(((stdout, Some(stderr)), writing))
}

/// A pipe with a non-blocking reading end; the writing end, used by the program, blocks.
fn output_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (read, write) = io::pipe()?;
    let flags = rustix::fs::fcntl_getfl(read.as_fd())?;
    rustix::fs::fcntl_setfl(read.as_fd(), flags | rustix::fs::OFlags::NONBLOCK)?;
    // The system may refuse if a user has many pipes; the default size works as well.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
    Ok((read, write))
}
