//! Supervisor processes by themselves, and those that wait for their next session: starting one is
//! most of what a short session costs.
//!
//! A supervisor is given another session only when the kernel has said that nothing is left of the
//! last one's tree. When the main program dies its control socket closes, and it ends.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest, Lines};
use tokio::net::UnixStream;
use tokio::process::Child;

use super::command::{Supervisor, TAG_VARIABLE};
use super::session::SupervisorLostError;
use super::supervisor::spawn_with_blocked_signals;
use super::wire::{self, SupervisorMessage, SupervisorOrder};

/// A supervisor process. Dropping it closes the control socket, which ends it and all it runs.
#[derive(Debug)]
pub(super) struct PooledSupervisor {
    pub(super) control: ControlClient,
    pub(super) child: Child,
}

/// The main program's end of the control socket.
#[derive(Debug)]
pub(super) struct ControlClient {
    lines: Lines<BufReader<UnixStream>>,
}

/// Those that wait, shared by all who start sessions through the same [`Supervisor`].
#[derive(Debug, Clone, Default)]
pub(super) struct SupervisorPool {
    waiting: Arc<Mutex<Vec<PooledSupervisor>>>,
}

impl PooledSupervisor {
    /// Starts one. `tag` is its own mark; the programs that it will start bear their sessions'.
    pub(super) fn start(supervisor: &Supervisor, tag: &str) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // An environment of its own: the tree could read the main program's secrets from it.
        let mut command = tokio::process::Command::new(&supervisor.program);
        command
            .arg0("selvedge-supervisor")
            .args(&supervisor.args)
            .env_clear()
            .env(TAG_VARIABLE, tag)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = spawn_with_blocked_signals(|| command.spawn())?;
        let control = ControlClient {
            lines: BufReader::new(UnixStream::from_std(ours)?).lines(),
        };
        Ok(Self { control, child })
    }

    /// Lets it end, and waits until it has. It must have nothing to supervise.
    async fn shutdown(self) {
        let Self { control, mut child } = self;
        drop(control);
        let _ = child.wait().await;
    }
}

impl ControlClient {
    /// A supervisor that cannot be told is dead, which the next read shows.
    pub(super) async fn send_order(&mut self, order: SupervisorOrder) {
        if let Ok(line) = wire::encode(&order) {
            let _ = self.socket().write_all(&line).await;
        }
    }

    /// Sends a line, and descriptors with its first byte.
    pub(super) async fn send_with_descriptors(
        &mut self,
        message: &impl Serialize,
        descriptors: &[OwnedFd],
    ) -> io::Result<()> {
        let line = wire::encode(message)?;
        let socket = self.socket();
        let sent = socket
            .async_io(Interest::WRITABLE, || {
                send_some(socket.as_fd(), &line, descriptors)
            })
            .await?;
        socket.write_all(&line[sent..]).await
    }

    /// The next line from the supervisor. Safe to cancel.
    pub(super) async fn next_message(&mut self) -> Result<SupervisorMessage, SupervisorLostError> {
        match self.lines.next_line().await {
            Ok(Some(line)) => wire::decode(line.as_bytes()).map_err(|_| SupervisorLostError),
            Ok(None) | Err(_) => Err(SupervisorLostError),
        }
    }

    fn socket(&mut self) -> &mut UnixStream {
        self.lines.get_mut().get_mut()
    }
}

impl SupervisorPool {
    /// One that waits, if there is one.
    pub(super) fn take(&self) -> Option<PooledSupervisor> {
        self.members().pop()
    }

    /// Keeps one whose tree is gone.
    pub(super) fn put(&self, member: PooledSupervisor) {
        self.members().push(member);
    }

    /// Ends all that wait.
    pub(super) async fn shutdown(&self) {
        let waiting = std::mem::take(&mut *self.members());
        for member in waiting {
            member.shutdown().await;
        }
    }

    fn members(&self) -> std::sync::MutexGuard<'_, Vec<PooledSupervisor>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends as much as fits at once; returns how many bytes that were.
fn send_some(socket: BorrowedFd<'_>, line: &[u8], descriptors: &[OwnedFd]) -> io::Result<usize> {
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(wire::MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
    let sent = sendmsg(
        socket,
        &[IoSlice::new(line)],
        &mut ancillary,
        SendFlags::empty(),
    )?;
    Ok(sent)
}
