//! The small process between the main program and a session's tree. It is single-threaded, starts
//! in about a millisecond, and ensures that the tree is gone at the end, whatever happens to the
//! program or the main program. Then it waits for the next session.
//!
//! Descriptor 0 is the control socket. The session's output pipes are received over it and closed
//! here as soon as the program holds them, so that the main program sees the end of the output when
//! the tree has closed it. Nothing here may print, panic, or wait for anything but the control
//! socket and its children.

mod container;
mod event_loop;
mod launch;
mod sandboxed;
mod signals;
mod temporary_folder;

pub(crate) mod control;

#[cfg(not(target_os = "linux"))]
#[path = "group.rs"]
mod tree;
#[cfg(target_os = "linux")]
mod tree;

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use self::container::remove_abandoned_containers;
pub(crate) use self::launch::ResolvedProgram;
pub(crate) use self::signals::spawn_with_blocked_signals;
pub(crate) use self::temporary_folder::remove_abandoned_folders;

use self::container::RemoveContainerError;
use self::control::ControlSocket;
use self::event_loop::EventLoop;
use self::sandboxed::SandboxResources;
use self::signals::SupervisorSignals;
use self::temporary_folder::TemporaryFolder;
use self::tree::ProcessTree;
use super::lock;
use super::session_exit::ProcessName;
use super::wire::{SessionSpec, SupervisorMessage, SupervisorOrder};
use crate::environment::deny_inspection;

/// Supervises sessions, one after another, as ordered over descriptor 0. Call it before anything
/// else: no thread may run yet, and nothing may have been printed.
///
/// The exit code has no meaning: results are sent over the socket.
pub fn main() -> ExitCode {
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise() -> io::Result<()> {
    // It reports exit codes to the main program: no other process may use its socket.
    deny_inspection()?;
    close_inherited_fds();
    let mut signals = SupervisorSignals::install()?;
    detach_from_terminal();
    let mut control = ControlSocket::inherited()?;
    let mut reusable = None;
    while let Some(spec) = control.receive::<SessionSpec>()? {
        run_session(&spec, &mut signals, &mut control, &mut reusable)?;
    }
    Ok(())
}

/// Runs one session. An error concerns the control socket and means that nothing was started.
fn run_session(
    spec: &SessionSpec,
    signals: &mut SupervisorSignals,
    control: &mut ControlSocket,
    reusable: &mut Option<TemporaryFolder>,
) -> io::Result<()> {
    let output = control.take_descriptors();
    let (tree, lock) = match prepare(spec) {
        Ok(prepared) => prepared,
        Err(error) => {
            let message = error.to_string();
            return control.send(&SupervisorMessage::Refused { message });
        }
    };
    control.send(&SupervisorMessage::Ready)?;

    // The main program makes its intent durable in the meantime; if it dies now, nothing has
    // happened.
    match control.receive::<SupervisorOrder>()? {
        Some(SupervisorOrder::Go) => {}
        Some(SupervisorOrder::Stop | SupervisorOrder::Kill) | None => return Ok(()),
    }
    let launched = match launch::launch_program(spec, output, reusable) {
        Ok(launched) => launched,
        Err(failure) => return control.send(&SupervisorMessage::SpawnFailed(failure)),
    };
    // From here on an error must not end this process: it is responsible for the tree.
    let pid = launched.program;
    control.send_or_ignore(&SupervisorMessage::Started { pid });
    let resources = launched.resources;
    let watch = EventLoop::new(spec, pid, launched.init, tree, signals, control);
    let mut report = watch.run_until_empty();
    // No process is left in the sandbox.
    let mut temporary = None;
    match resources.map(SandboxResources::remove) {
        Some(Ok(left)) => temporary = left,
        Some(Err(error)) => report = with_survivor(report, &error),
        None => {}
    }
    // The lock is released last.
    drop(lock);
    control.send_or_ignore(&report);
    // Nobody waits for this: the main program prepares the next session in the meantime.
    *reusable = temporary.and_then(TemporaryFolder::emptied);
    Ok(())
}

/// Adds a container that could not be removed to the survivors: it may still hold processes.
fn with_survivor(report: SupervisorMessage, error: &RemoveContainerError) -> SupervisorMessage {
    match report {
        SupervisorMessage::Gone(mut tree) => {
            let name = format!("container {error}");
            tree.survivors.push(ProcessName { pid: 0, name });
            SupervisorMessage::Surviving(tree)
        }
        other => other,
    }
}

/// Why a session cannot be supervised.
#[derive(Debug, thiserror::Error)]
enum SupervisionError {
    #[error("cannot adopt orphans: {0}")]
    Subreaper(#[source] io::Error),
    #[error("cannot lock {}: {source}", path.display())]
    Lock { path: PathBuf, source: io::Error },
}

/// Becomes the subreaper and takes the lock.
fn prepare(spec: &SessionSpec) -> Result<(ProcessTree, Option<File>), SupervisionError> {
    let tree = ProcessTree::become_subreaper().map_err(SupervisionError::Subreaper)?;
    let Some(path) = spec.lock.as_ref().map(PathBuf::from) else {
        return Ok((tree, None));
    };
    match lock::hold_shared(&path) {
        Ok(file) => Ok((tree, Some(file))),
        Err(source) => Err(SupervisionError::Lock { path, source }),
    }
}

/// Closes descriptors that the main program inherited from its parent: the tree may hold only its
/// own three descriptors. Nothing in this process owns another one yet.
fn close_inherited_fds() {
    let open = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    let listed = std::fs::read_dir(open).into_iter().flatten().flatten();
    let descriptors = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let inherited: Vec<RawFd> = descriptors.filter(|descriptor| *descriptor > 2).collect();
    for descriptor in inherited {
        // The directory listing's own descriptor is already closed.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Starts a session without a controlling terminal: Ctrl-C reaches only the main program, and
/// nothing in the tree can read from or take over the user's terminal.
fn detach_from_terminal() {
    // Fails only for the leader of a process group, which the main program never makes this
    // process.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"selvedge-superv");
}
