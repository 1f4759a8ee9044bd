//! Supervisor processes and the pool of idle ones: starting a supervisor takes most of the time of
//! a short session.
//!
//! A supervisor gets another session only after the kernel has confirmed that nothing is left of
//! its last tree. When the main program dies, its control socket closes and it ends.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest, Lines};
use tokio::net::UnixStream;
use tokio::process::Child;

use super::command::Supervisor;
use super::session::SupervisorLostError;
use super::supervisor::spawn_with_blocked_signals;
use super::wire::{self, SupervisorMessage, SupervisorOrder};

/// The name of supervisors in lists of processes.
pub(super) const SUPERVISOR_NAME: &str = "selvedge-supervisor";

/// A supervisor process. Dropping it closes the control socket, which ends the supervisor and all
/// that it runs.
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

/// Idle supervisors, shared by all clones of a [`Supervisor`].
#[derive(Debug, Clone, Default)]
pub(super) struct SupervisorPool {
    waiting: Arc<Mutex<Vec<PooledSupervisor>>>,
}

impl PooledSupervisor {
    /// Starts a supervisor for sessions of a run. Its own tag is the run's; its programs carry the tags of their
    /// sessions.
    pub(super) fn start(supervisor: &Supervisor, run: &str) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // The environment is empty, because it needs none. The tag is an argument, because a supervisor's environment
        // cannot be read.
        let mut command = tokio::process::Command::new(&supervisor.program);
        command
            .arg0(SUPERVISOR_NAME)
            .args(&supervisor.args)
            .arg(format!("{run}.supervisor"))
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = spawn_with_blocked_signals(|| command.spawn())?;
        let control = ControlClient {
            lines: BufReader::new(UnixStream::from_std(ours)?).lines(),
        };
        Ok(Self { control, child })
    }

    /// Ends the supervisor and waits for it. It must not be supervising anything.
    async fn shutdown(self) {
        let Self { control, mut child } = self;
        drop(control);
        let _ = child.wait().await;
    }
}

impl ControlClient {
    /// Sends an order. If sending fails, the supervisor is dead, which the next read reports.
    pub(super) async fn send_order(&mut self, order: SupervisorOrder) {
        if let Ok(line) = wire::encode(&order) {
            let _ = self.socket().write_all(&line).await;
        }
    }

    /// Sends a line, with descriptors attached to its first byte.
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

    /// Returns the next message of the supervisor. Cancel safe.
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
    /// Takes an idle supervisor, if there is one.
    pub(super) fn take(&self) -> Option<PooledSupervisor> {
        self.waiting.lock().pop()
    }

    /// Returns a supervisor whose tree is gone to the pool.
    pub(super) fn put(&self, member: PooledSupervisor) {
        self.waiting.lock().push(member);
    }

    /// Ends all idle supervisors.
    pub(super) async fn shutdown(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for member in waiting {
            member.shutdown().await;
        }
    }
}

/// Sends as many bytes as fit without blocking; returns their number.
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
