//! A container for one session: started through its engine, controlled over a socket that is
//! mounted in it, and removed when the session ends. It is recorded before it is created, so that a
//! later run finds the containers that a killed supervisor has left.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, flock};

use super::launch::ResolvedProgram;
use crate::process::command::TAG_VARIABLE;
use crate::sandbox::{ContainerEngine, ContainerRequest, SandboxPlan, this_program};

/// Time after which an engine that has not started the container counts as failed; the main program
/// waits a little longer.
const START_TIMEOUT: Duration = Duration::from_secs(50);
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// How often the removal of a container is attempted.
const REMOVE_ATTEMPTS: usize = 3;

/// A container that exists or may exist.
pub(super) struct SessionContainer {
    engine: ContainerEngine,
    name: String,
    record: PathBuf,
    /// Held for the lifetime of the supervisor.
    _lock: File,
}

/// A started container whose init process has connected.
pub(super) struct ConnectedContainer {
    pub(super) client: Child,
    pub(super) socket: UnixStream,
    /// The init process's id, if it is visible from here.
    pub(super) init_pid: Option<i32>,
}

/// A container that could not be removed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoveContainerError {
    #[error("{name}: {answer}")]
    Refused { name: String, answer: String },
    #[error("{name}: {source}")]
    EngineNotStarted { name: String, source: io::Error },
}

impl SessionContainer {
    /// Records a container that is about to be created.
    pub(super) fn register(plan: &SandboxPlan, temporary: &Path) -> io::Result<Self> {
        let contained = plan.container.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        let records = PathBuf::from(&contained.records);
        std::fs::create_dir_all(&records)?;
        let name = temporary.file_name().and_then(OsStr::to_str);
        let name = name.ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let record = records.join(format!("{name}.json"));
        // The lock is taken before the record becomes visible.
        let unseen = records.join(format!("{name}.new"));
        let lock = File::create_new(&unseen)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        serde_json::to_writer(&lock, &contained.engine)?;
        std::fs::rename(&unseen, &record)?;
        Ok(Self {
            engine: contained.engine.clone(),
            name,
            record,
            _lock: lock,
        })
    }

    /// Starts the container and waits until its init process connects; otherwise returns the
    /// reason. The engine's output goes to `said`.
    pub(super) fn start(
        &self,
        plan: &SandboxPlan,
        found: &ResolvedProgram,
        temporary: &Path,
        errors: &File,
    ) -> io::Result<ConnectedContainer> {
        let contained = plan.container.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        let socket = temporary.join("control");
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let variable = |wanted: &str| {
            let set = found.env.iter().find(|(name, _)| name == wanted);
            set.map(|(_, value)| value.clone())
        };
        let home = variable("HOME").map(PathBuf::from);
        let init_program = this_program(temporary)?;
        let wanted = ContainerRequest {
            name: &self.name,
            label: variable(TAG_VARIABLE).unwrap_or_default(),
            temporary,
            socket: &socket,
            init_program: &init_program,
            home: home.as_deref().filter(|home| home.is_absolute()),
        };
        let words = contained
            .arguments(plan, &wanted)
            .map_err(io::Error::other)?;
        let tag = variable(TAG_VARIABLE).map(|value| (TAG_VARIABLE, value));
        let mut client = engine_command(&self.engine)
            .args(words)
            .envs(tag)
            .stdout(Stdio::null())
            .stderr(errors.try_clone()?)
            .spawn()?;
        let called = accept_init(&listener, &mut client);
        // No other process may connect.
        drop(listener);
        let _ = std::fs::remove_file(&socket);
        match called {
            Ok(socket) => Ok(ConnectedContainer {
                init_pid: peer_pid(&socket),
                client,
                socket,
            }),
            Err(error) => {
                let _ = client.kill();
                let _ = client.wait();
                Err(error)
            }
        }
    }

    /// Removes the container, whatever it is doing.
    pub(super) fn remove(self) -> Result<(), RemoveContainerError> {
        remove_container(&self.engine, &self.name)?;
        // The record is no longer needed.
        let _ = std::fs::remove_file(&self.record);
        Ok(())
    }
}

/// Removes recorded containers whose supervisors are gone; `records` is the folder of the records.
pub(crate) fn remove_abandoned_containers(records: &Path) -> usize {
    let listed = std::fs::read_dir(records).into_iter().flatten().flatten();
    let records = listed.map(|entry| entry.path());
    records
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .filter(|record| remove_if_abandoned(record).unwrap_or(false))
        .count()
}

fn remove_if_abandoned(record: &Path) -> io::Result<bool> {
    let lock = File::open(record)?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    let name = record.file_stem().and_then(OsStr::to_str);
    let name = name.ok_or(io::ErrorKind::InvalidInput)?;
    let engine: ContainerEngine = serde_json::from_reader(&lock)?;
    remove_container(&engine, name).map_err(io::Error::other)?;
    std::fs::remove_file(record)?;
    Ok(true)
}

/// A container that does not exist counts as removed.
fn remove_container(engine: &ContainerEngine, name: &str) -> Result<(), RemoveContainerError> {
    let ask = |words: &[&str]| {
        engine_command(engine)
            .args(engine.command_words())
            .args(words)
            .output()
    };
    let mut result = Ok(());
    for _ in 0..REMOVE_ATTEMPTS {
        result = match ask(&["rm", "--force", name]) {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => Err(RemoveContainerError::Refused {
                name: name.to_owned(),
                answer: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
            Err(source) => Err(RemoveContainerError::EngineNotStarted {
                name: name.to_owned(),
                source,
            }),
        };
        let found = ask(&["container", "inspect", name]);
        if found.is_ok_and(|found| !found.status.success()) {
            return Ok(());
        }
    }
    result
}

/// A command of the engine, without its arguments.
fn engine_command(engine: &ContainerEngine) -> Command {
    let mut command = Command::new(PathBuf::from(&engine.program));
    let env = engine.env.iter();
    command
        .env_clear()
        .envs(env.map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .current_dir("/")
        .stdin(Stdio::null())
        .process_group(0);
    command
}

fn accept_init(listener: &UnixListener, client: &mut Child) -> io::Result<UnixStream> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let mut fds = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        // A signal interrupts the poll, and is a reason to check again.
        let _ = rustix::event::poll(&mut fds, Some(&POLL_INTERVAL));
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if client.try_wait()?.is_some() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other("the container did not start in time"));
        }
    }
}

/// An id of zero means that the peer is not visible from here.
fn peer_pid(socket: &UnixStream) -> Option<i32> {
    let peer = getsockopt(socket, sockopt::PeerCredentials).ok()?;
    Some(peer.pid()).filter(|pid| *pid > 0)
}
