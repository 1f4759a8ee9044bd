//! The main program's end of one session: start the supervisor, let it start the program, hear
//! how things go. Dropping any of it closes the control socket, and the supervisor then kills
//! whatever runs: there is no way to forget a tree.

use std::io::{self, PipeReader};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;

use super::command::{Command, Streams, Supervisor};
use super::ended::{Exit, SpawnFailure, TreeReport, Usage};
use super::identity::Identity;
use super::spare::Waiting;
use super::sweep::sweep_lost;
use super::wire::{self, Order, Report, Spec};

/// A supervisor that has not spoken for so long never will. Generous: the machine may be busy.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// A supervisor that is ready and has started nothing yet.
#[derive(Debug)]
#[must_use = "dropping it ends the session before it began"]
pub struct Prepared {
    pub(super) session: Session,
    /// Where the next session's supervisor comes from.
    through: Supervisor,
}

/// A program that runs.
#[derive(Debug)]
#[must_use = "dropping it kills the whole process tree"]
pub struct Session {
    control: Control,
    supervisor: Child,
    identity: Identity,
    tag: String,
    output: Option<(PipeReader, Option<PipeReader>)>,
    /// How long a stop may take until the supervisor kills what is left.
    pub(super) graces: Duration,
}

#[derive(Debug)]
struct Control {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
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
    Over {
        tree: TreeReport,
        usage: Usage,
    },
}

impl Session {
    /// Starts a supervisor, or takes the spare, and waits until it holds the lock and is ready to
    /// start the command.
    pub async fn prepare(
        supervisor: &Supervisor,
        command: &Command,
    ) -> Result<Prepared, PrepareError> {
        if let Some(waiting) = supervisor.spare.take() {
            match Self::brief(waiting, supervisor, command).await {
                // A spare that died meanwhile has started nothing: another one takes its place.
                Err(PrepareError::Lost) => {}
                answer => return answer,
            }
        }
        let waiting = Waiting::start(supervisor, &command.tag).map_err(|source| {
            let program = supervisor.program.display().to_string();
            PrepareError::Spawn { program, source }
        })?;
        Self::brief(waiting, supervisor, command).await
    }

    /// Tells a waiting supervisor what it is for.
    async fn brief(
        waiting: Waiting,
        supervisor: &Supervisor,
        command: &Command,
    ) -> Result<Prepared, PrepareError> {
        let spec = wire::encode(&Spec::from(command)).map_err(|_| PrepareError::Lost)?;
        let (read, write) = waiting.control.into_split();
        let mut session = Self {
            control: Control {
                lines: BufReader::new(read).lines(),
                write,
            },
            identity: waiting.identity,
            supervisor: waiting.child,
            tag: command.tag.clone(),
            output: Some(match command.streams {
                Streams::Merged => (waiting.stdout, None),
                Streams::Separate => (waiting.stdout, Some(waiting.stderr)),
            }),
            graces: command.grace.saturating_add(command.leftover_grace),
        };
        let ready = async {
            let told = session.control.write.write_all(&spec).await;
            told.map_err(|_| PrepareError::Lost)?;
            match session.control.next().await {
                Ok(Report::Ready) => Ok(()),
                Ok(Report::Refused { message }) => Err(PrepareError::Refused(message)),
                Ok(_) | Err(Lost) => Err(PrepareError::Lost),
            }
        };
        let answer = tokio::time::timeout(ANSWER_WITHIN, ready).await;
        answer.map_err(|_| PrepareError::Lost).flatten()?;
        Ok(Prepared {
            session,
            through: supervisor.clone(),
        })
    }

    /// The supervisor, for the journal.
    pub fn identity(&self) -> &Identity {
        &self.identity
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
        self.control.tell(Order::Stop).await;
    }

    /// Kills the tree at once.
    pub async fn kill(&mut self) {
        self.control.tell(Order::Kill).await;
    }

    /// Waits until the program has ended and its tree is gone, for a caller that does not use
    /// [`run`](super::run). Safe to cancel.
    pub async fn gone(&mut self) -> Result<(TreeReport, Usage), Lost> {
        loop {
            if let News::Over { tree, usage } = self.news().await? {
                return Ok((tree, usage));
            }
        }
    }

    /// The next piece of news. Safe to cancel.
    pub(super) async fn news(&mut self) -> Result<News, Lost> {
        match self.control.next().await? {
            Report::Exited(exit) => Ok(News::Exited(exit)),
            Report::Gone { tree, usage } => {
                // It has nothing left to do but exit.
                let _ = self.supervisor.wait().await;
                Ok(News::Over { tree, usage })
            }
            Report::Surviving { tree, usage } => Ok(News::Over { tree, usage }),
            Report::Ready
            | Report::Refused { .. }
            | Report::Started { .. }
            | Report::SpawnFailed(_) => Err(Lost),
        }
    }

    /// Ends what a supervisor that died, or no longer answers, has left behind.
    pub async fn sweep(mut self) -> TreeReport {
        let _ = self.supervisor.kill().await;
        let supervisor = i32::try_from(self.identity.pid).unwrap_or(i32::MAX);
        let tag = std::mem::take(&mut self.tag);
        let swept = tokio::task::spawn_blocking(move || sweep_lost(&tag, supervisor));
        swept
            .await
            .unwrap_or_else(|_| TreeReport::nothing_started())
    }
}

impl Prepared {
    /// The supervisor, for the journal.
    pub fn identity(&self) -> &Identity {
        &self.session.identity
    }

    /// Starts the program.
    pub async fn start(mut self) -> Result<Session, StartError> {
        self.go().await?;
        Ok(self.session)
    }

    pub(super) async fn go(&mut self) -> Result<(), StartError> {
        self.session.control.tell(Order::Go).await;
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.session.control.next()).await;
        match answer.map_err(|_| Lost)?? {
            Report::Started { .. } => {
                let (through, tag) = (self.through.clone(), self.session.tag.clone());
                tokio::spawn(async move { through.spare.fill(&through, &tag) });
                Ok(())
            }
            Report::SpawnFailed(failure) => Err(failure.into()),
            _ => Err(Lost.into()),
        }
    }
}

impl Control {
    /// A supervisor that cannot be told is dead, which the next read shows.
    async fn tell(&mut self, order: Order) {
        if let Ok(line) = wire::encode(&order) {
            let _ = self.write.write_all(&line).await;
        }
    }

    async fn next(&mut self) -> Result<Report, Lost> {
        match self.lines.next_line().await {
            Ok(Some(line)) => wire::decode(line.as_bytes()).map_err(|_| Lost),
            Ok(None) | Err(_) => Err(Lost),
        }
    }
}
