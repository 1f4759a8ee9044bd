//! A supervisor process by itself, and one kept ready ahead of its session: starting it is most of
//! what a short session costs, and that time passes unnoticed while another session still runs.
//!
//! A spare has been told nothing and has started nothing. When the main program dies its control
//! socket closes, and it ends.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UnixStream;
use tokio::process::Child;

use super::command::{Supervisor, TAG_VARIABLE};
use super::identity::Identity;

/// The larger the pipe, the fewer switches between a program that floods and the reader; but what
/// an unprivileged user may have in all pipes together is 64 MiB, which others need too.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;

/// A supervisor that waits for its first line.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) control: UnixStream,
    pub(super) child: Child,
    pub(super) identity: Identity,
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
}

/// The place for one spare, shared by all who start sessions through the same [`Supervisor`].
#[derive(Debug, Clone, Default)]
pub(super) struct Spare {
    /// Whether one is wanted.
    kept: bool,
    place: Arc<Mutex<Option<Waiting>>>,
}

impl Waiting {
    /// Starts one. `tag` is its own mark; the program that it will start bears its session's.
    pub(super) fn start(supervisor: &Supervisor, tag: &str) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (stdout, stdout_write) = output_pipe()?;
        let (stderr, stderr_write) = output_pipe()?;
        // An environment of its own: the tree could read the main program's secrets from it.
        let child = tokio::process::Command::new(&supervisor.program)
            .arg0("selvedge-supervisor")
            .args(&supervisor.args)
            .env_clear()
            .env(TAG_VARIABLE, tag)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::from(stdout_write))
            .stderr(Stdio::from(stderr_write))
            .spawn()?;
        let identity = Identity::of(child.id().unwrap_or_default());
        let control = UnixStream::from_std(ours)?;
        Ok(Self {
            control,
            child,
            identity,
            stdout,
            stderr,
        })
    }
}

impl Spare {
    /// A place that is filled whenever a session has started.
    pub(super) fn kept() -> Self {
        Self {
            kept: true,
            ..Self::default()
        }
    }

    /// The spare, if there is one.
    pub(super) fn take(&self) -> Option<Waiting> {
        self.place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Starts the next one, if one is wanted. A failure shows when the next session starts its own.
    pub(super) fn fill(&self, supervisor: &Supervisor, tag: &str) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.kept || place.is_some() {
            return;
        }
        // The run's part of the tag: a spare belongs to no session yet.
        let run = tag.split('.').next().unwrap_or_default();
        if let Ok(waiting) = Waiting::start(supervisor, &format!("{run}.spare")) {
            *place = Some(waiting);
        }
    }
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
