//! The main program's end of one session: start the supervisor, let it start the program, hear
//! how things go. Dropping any of it closes the control socket, and the supervisor then kills
//! whatever runs: there is no way to forget a tree.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use selvedge_core::redact::Redactor;
use tokio::net::unix::pipe;

use super::command::{Command, Streams, Supervisor};
use super::ended::{Exit, SpawnFailure, TreeReport};
use super::pool::{Member, Pool};
use super::sweep::sweep_lost;
use super::wire::{Order, Report, Spec};

/// A supervisor that has not spoken for so long never will. Generous: the machine may be busy.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// The larger the pipe, the fewer switches between a program that floods and the reader; but what
/// an unprivileged user may have in all pipes together is 64 MiB, which others need too.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;

/// A supervisor that is ready and has started nothing yet.
#[derive(Debug)]
#[must_use = "dropping it ends the session before it began"]
pub struct Prepared {
    pub(super) session: Session,
}

/// A program that runs.
#[derive(Debug)]
#[must_use = "dropping it kills the whole process tree"]
pub struct Session {
    supervisor: Member,
    /// Where the supervisor goes when nothing is left of the tree.
    pool: Pool,
    /// Whether nothing is left.
    gone: bool,
    tag: String,
    output: Option<(PipeReader, Option<PipeReader>)>,
    /// How long a stop may take until the supervisor kills what is left.
    /// What is taken out of its output.
    pub(super) redactor: Redactor,
    pub(super) graces: Duration,
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
    Lost,
}

/// Why a prepared session's program does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program itself could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnFailure),
    /// The supervisor died.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// The supervisor died without having said that the tree is gone.
#[derive(Debug, thiserror::Error)]
#[error("the supervisor was lost")]
pub struct Lost;

/// What a session tells of itself.
#[derive(Debug)]
pub(super) enum News {
    Exited(Exit),
    /// Nothing more will come: the tree is gone, or what is left of it cannot be ended.
    Over(TreeReport),
}

impl Session {
    /// Starts a supervisor, or takes one that waits, and waits until it holds the lock and is ready
    /// to start the command.
    pub async fn prepare(
        supervisor: &Supervisor,
        command: &Command,
    ) -> Result<Prepared, PrepareError> {
        if let Some(waiting) = supervisor.pool.take() {
            match Self::brief(waiting, supervisor, command).await {
                // One that died meanwhile has started nothing: another one takes its place.
                Err(PrepareError::Lost) => {}
                answer => return answer,
            }
        }
        // The run's part of the tag: a supervisor may serve many sessions.
        let run = command.tag.split('.').next().unwrap_or_default();
        let started = Member::start(supervisor, &format!("{run}.supervisor"));
        let member = started.map_err(|source| {
            let program = supervisor.program.display().to_string();
            PrepareError::Spawn { program, source }
        })?;
        Self::brief(member, supervisor, command).await
    }

    /// Tells a supervisor what it is for.
    async fn brief(
        mut supervisor: Member,
        through: &Supervisor,
        command: &Command,
    ) -> Result<Prepared, PrepareError> {
        let ((stdout, stderr), writing) = pipes(command.streams).map_err(PrepareError::Pipe)?;
        let ready = async {
            let spec = Spec::new(command, through.walls.as_ref());
            let told = supervisor.control.hand_over(&spec, &writing).await;
            told.map_err(|_| PrepareError::Lost)?;
            match supervisor.control.next().await {
                Ok(Report::Ready) => Ok(()),
                Ok(Report::Refused { message }) => Err(PrepareError::Refused(message)),
                Ok(_) | Err(Lost) => Err(PrepareError::Lost),
            }
        };
        let answer = tokio::time::timeout(ANSWER_WITHIN, ready).await;
        answer.map_err(|_| PrepareError::Lost).flatten()?;
        // Only the program shall hold them: their end is the end of its output.
        drop(writing);
        let session = Self {
            supervisor,
            pool: through.pool.clone(),
            gone: false,
            tag: command.tag.clone(),
            output: Some((stdout, stderr)),
            redactor: through.redactor.clone(),
            graces: command.grace.saturating_add(command.leftover_grace),
        };
        Ok(Prepared { session })
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
        self.supervisor.control.tell(Order::Stop).await;
    }

    /// Kills the tree at once.
    pub async fn kill(&mut self) {
        self.supervisor.control.tell(Order::Kill).await;
    }

    /// Waits until the program has ended and its tree is gone, for a caller that does not use
    /// [`run`](super::run). Safe to cancel.
    pub async fn gone(&mut self) -> Result<TreeReport, Lost> {
        loop {
            if let News::Over(tree) = self.news().await? {
                return Ok(tree);
            }
        }
    }

    /// The next piece of news. Safe to cancel.
    pub(super) async fn news(&mut self) -> Result<News, Lost> {
        match self.supervisor.control.next().await? {
            Report::Exited(exit) => Ok(News::Exited(exit)),
            Report::Gone(tree) => {
                self.gone = true;
                Ok(News::Over(tree))
            }
            Report::Surviving(tree) => Ok(News::Over(tree)),
            Report::Ready
            | Report::Refused { .. }
            | Report::Started { .. }
            | Report::SpawnFailed(_) => Err(Lost),
        }
    }

    /// Frees the supervisor for another session, if nothing is left of this one's tree.
    pub fn release(self) {
        if self.gone {
            self.pool.put(self.supervisor);
        }
    }

    /// Ends what a supervisor that died, or no longer answers, has left behind.
    pub async fn sweep(mut self) -> TreeReport {
        let pid = self.supervisor.child.id();
        let supervisor = pid.and_then(|pid| i32::try_from(pid).ok());
        let _ = self.supervisor.child.kill().await;
        let tag = std::mem::take(&mut self.tag);
        let swept = tokio::task::spawn_blocking(move || sweep_lost(&tag, supervisor));
        swept
            .await
            .unwrap_or_else(|_| TreeReport::nothing_started())
    }
}

impl Prepared {
    /// The supervisor's process id.
    pub fn supervisor_pid(&self) -> Option<u32> {
        self.session.supervisor.child.id()
    }

    /// Starts the program.
    pub async fn start(mut self) -> Result<Session, StartError> {
        self.go().await?;
        Ok(self.session)
    }

    pub(super) async fn go(&mut self) -> Result<(), StartError> {
        self.session.supervisor.control.tell(Order::Go).await;
        let answer =
            tokio::time::timeout(ANSWER_WITHIN, self.session.supervisor.control.next()).await;
        match answer.map_err(|_| Lost)?? {
            Report::Started { .. } => Ok(()),
            Report::SpawnFailed(failure) => Err(failure.into()),
            _ => Err(Lost.into()),
        }
    }
}

type Reading = (PipeReader, Option<PipeReader>);

/// The pipes of a session: the ends that are read here, and those that the program writes to.
fn pipes(streams: Streams) -> io::Result<(Reading, Vec<OwnedFd>)> {
    let (stdout, stdout_write) = output_pipe()?;
    if streams == Streams::Merged {
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
