//! The main program's end of one session: start the supervisor, let it start the program, hear
//! how things go. Dropping any of it closes the control socket, and the supervisor then kills
//! whatever runs: there is no way to forget a tree.

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

/// A supervisor that has not spoken for so long never will. Generous: the machine may be busy.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The larger the pipe, the fewer switches between a program that floods and the reader; but what
/// an unprivileged user may have in all pipes together is 64 MiB, which others need too.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;

/// A supervisor that is ready and has started nothing yet.
#[derive(Debug)]
#[must_use = "dropping it ends the session before it began"]
pub struct PreparedSession {
    pub(super) session: Session,
}

/// A program that runs.
#[derive(Debug)]
#[must_use = "dropping it kills the whole process tree"]
pub struct Session {
    supervisor: PooledSupervisor,
    /// Where the supervisor goes when nothing is left of the tree.
    pool: SupervisorPool,
    /// Whether nothing is left.
    is_gone: bool,
    tag: String,
    output: Option<(PipeReader, Option<PipeReader>)>,
    /// How long a stop may take until the supervisor kills what is left.
    /// What is taken out of its output.
    pub(super) redactor: Redactor,
    pub(super) total_grace: Duration,
}

/// Why no supervisor is ready. Infrastructure, all of it.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Out of processes, memory or descriptors, or the program is missing.
    #[error("cannot start the supervisor {program}: {source}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// Out of descriptors.
    #[error("cannot make a pipe: {0}")]
    Pipe(io::Error),
    /// It started and said why it cannot go on.
    #[error("the supervisor {0}")]
    Refused(String),
    /// It ended, or did not answer for a minute.
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

/// The supervisor died without having said that the tree is gone.
#[derive(Debug, thiserror::Error)]
#[error("the supervisor was lost")]
pub struct SupervisorLostError;

/// What a session tells of itself.
#[derive(Debug)]
pub(super) enum SessionEvent {
    Exited(ProcessExit),
    /// Nothing more will come: the tree is gone, or what is left of it cannot be ended.
    Over(TreeReport),
}

impl Session {
    /// Starts a supervisor, or takes one that waits, and waits until it holds the lock and is ready
    /// to start the command.
    pub async fn prepare(
        supervisor: &Supervisor,
        command: &SessionCommand,
    ) -> Result<PreparedSession, PrepareError> {
        if let Some(waiting) = supervisor.pool.take() {
            match Self::configure(waiting, supervisor, command).await {
                // One that died meanwhile has started nothing: another one takes its place.
                Err(PrepareError::SupervisorLost) => {}
                answer => return answer,
            }
        }
        // The run's part of the tag: a supervisor may serve many sessions.
        let run = command.tag.split('.').next().unwrap_or_default();
        let started = PooledSupervisor::start(supervisor, &format!("{run}.supervisor"));
        let member = started.map_err(|source| {
            let program = supervisor.program.display().to_string();
            PrepareError::Spawn { program, source }
        })?;
        Self::configure(member, supervisor, command).await
    }

    /// Tells a supervisor what it is for.
    async fn configure(
        mut supervisor: PooledSupervisor,
        through: &Supervisor,
        command: &SessionCommand,
    ) -> Result<PreparedSession, PrepareError> {
        let ((stdout, stderr), writing) =
            session_pipes(command.streams).map_err(PrepareError::Pipe)?;
        let ready = async {
            let spec = SessionSpec::new(command, through.sandbox.as_ref());
            let told = supervisor
                .control
                .send_with_descriptors(&spec, &writing)
                .await;
            told.map_err(|_| PrepareError::SupervisorLost)?;
            match supervisor.control.next_message().await {
                Ok(SupervisorMessage::Ready) => Ok(()),
                Ok(SupervisorMessage::Refused { message }) => Err(PrepareError::Refused(message)),
                Ok(_) | Err(SupervisorLostError) => Err(PrepareError::SupervisorLost),
            }
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, ready).await;
        answer.map_err(|_| PrepareError::SupervisorLost).flatten()?;
        // Only the program shall hold them: their end is the end of its output.
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

    /// Standard output and standard error (`None` when merged) for a caller that reads them
    /// itself; once, else `None`. The program blocks when nobody reads.
    pub fn take_output(&mut self) -> Option<io::Result<(pipe::Receiver, Option<pipe::Receiver>)>> {
        let (stdout, stderr) = self.output.take()?;
        let receiver = |pipe: PipeReader| pipe::Receiver::from_owned_fd(pipe.into());
        let both = || Ok((receiver(stdout)?, stderr.map(receiver).transpose()?));
        Some(both())
    }

    pub(super) fn take_pipes(&mut self) -> Option<(PipeReader, Option<PipeReader>)> {
        self.output.take()
    }

    /// Asks the tree to stop; it is killed after the command's grace.
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

    /// Waits until the program has ended and its tree is gone, for a caller that does not use
    /// [`run`](super::run). Safe to cancel.
    pub async fn wait_until_gone(&mut self) -> Result<TreeReport, SupervisorLostError> {
        loop {
            if let SessionEvent::Over(tree) = self.next_event().await? {
                return Ok(tree);
            }
        }
    }

    /// The next piece of news. Safe to cancel.
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

    /// Frees the supervisor for another session, if nothing is left of this one's tree.
    pub fn release(self) {
        if self.is_gone {
            self.pool.put(self.supervisor);
        }
    }

    /// Ends what a supervisor that died, or no longer answers, has left behind.
    pub async fn kill_leftovers(mut self) -> TreeReport {
        let pid = self.supervisor.child.id();
        let supervisor = pid.and_then(|pid| i32::try_from(pid).ok());
        let _ = self.supervisor.child.kill().await;
        let tag = std::mem::take(&mut self.tag);
        let swept = tokio::task::spawn_blocking(move || kill_lost_session(&tag, supervisor));
        swept.await.unwrap_or_else(|_| TreeReport::empty())
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

/// The pipes of a session: the ends that are read here, and those that the program writes to.
fn session_pipes(streams: StderrMode) -> io::Result<(SessionPipes, Vec<OwnedFd>)> {
    let (stdout, stdout_write) = output_pipe()?;
    if streams == StderrMode::Merged {
        return Ok(((stdout, None), vec![stdout_write.into()]));
    }
    let (stderr, stderr_write) = output_pipe()?;
    let writing = vec![stdout_write.into(), stderr_write.into()];
    Ok(((stdout, Some(stderr)), writing))
}

/// A pipe whose reading end does not block; the writing end is the program's and does.
fn output_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (read, write) = io::pipe()?;
    let flags = rustix::fs::fcntl_getfl(read.as_fd())?;
    rustix::fs::fcntl_setfl(read.as_fd(), flags | rustix::fs::OFlags::NONBLOCK)?;
    // The system may refuse when a user has many pipes; the ordinary size works as well.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
    Ok((read, write))
}
