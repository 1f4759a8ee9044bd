//! The small process between the main program and a session's tree. It is single-threaded, starts
//! in about a millisecond, and has one purpose: that the tree is gone at the end, whatever happens
//! to the program, to the main program, or in between. Then it waits for the next session.
//!
//! Descriptor 0 is the control socket; the session's output comes over it and is let go as soon as
//! the program holds it, so that the main program sees the end of the output when the tree has
//! closed it. Nothing here may print, panic, or wait for anything but the control socket and its
//! children.

mod contained;
mod launch;
mod signals;
mod temporary;
mod walled;
mod watch;

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

pub(crate) use self::contained::clear_abandoned as clear_containers;
pub(crate) use self::launch::Found;
pub(crate) use self::signals::spawn_shielded;
pub(crate) use self::temporary::clear_abandoned as clear_temporary;

use self::control::Control;
use self::signals::Signals;
use self::tree::Tree;
use self::walled::Surroundings;
use self::watch::Watch;
use super::ended::ProcessName;
use super::lock;
use super::wire::{Order, Report, Spec};

/// Supervises sessions, one after another, as told over descriptor 0. Call it before anything else:
/// no thread may run yet, and nothing may have been printed.
///
/// The exit code means nothing to anybody: what there is to say is said over the socket.
pub fn main() -> ExitCode {
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise() -> io::Result<()> {
    close_strays();
    let mut signals = Signals::take_over()?;
    leave_the_terminal();
    let mut control = Control::inherited()?;
    while let Some(spec) = control.receive::<Spec>()? {
        session(&spec, &mut signals, &mut control)?;
    }
    Ok(())
}

/// One session. An error is of the control socket, and then nothing has been started.
fn session(spec: &Spec, signals: &mut Signals, control: &mut Control) -> io::Result<()> {
    let output = control.take_descriptors();
    let (tree, lock) = match prepare(spec) {
        Ok(prepared) => prepared,
        Err(message) => return control.send(&Report::Refused { message }),
    };
    control.send(&Report::Ready)?;

    // The main program makes its intent durable meanwhile; if it dies now, nothing has happened.
    match control.receive::<Order>()? {
        Some(Order::Go) => {}
        Some(Order::Stop | Order::Kill) | None => return Ok(()),
    }
    let launched = match launch::launch(spec, output) {
        Ok(launched) => launched,
        Err(failure) => return control.send(&Report::SpawnFailed(failure)),
    };
    // From here on an error must not end this process: the tree is its charge.
    let pid = launched.program;
    control.tell(&Report::Started { pid });
    let surroundings = launched.surroundings;
    let watch = Watch::new(spec, (pid, launched.keeper), tree, signals, control);
    let mut report = watch.until_gone();
    // Nobody is left who is in there.
    if let Some(Err(stays)) = surroundings.map(Surroundings::clear) {
        report = with_survivor(report, &stays);
    }
    // The lock is the last that is seen of the tree.
    drop(lock);
    control.tell(&report);
    Ok(())
}

/// A container that could not be removed may still hold processes.
fn with_survivor(report: Report, container: &str) -> Report {
    match report {
        Report::Gone(mut tree) => {
            let name = format!("container {container}");
            tree.survivors.push(ProcessName { pid: 0, name });
            Report::Surviving(tree)
        }
        other => other,
    }
}

/// Adopts orphans and takes the lock, or says why not.
fn prepare(spec: &Spec) -> Result<(Tree, Option<File>), String> {
    let tree = Tree::adopt().map_err(|error| format!("cannot adopt orphans: {error}"))?;
    let Some(path) = spec.lock.as_ref().map(PathBuf::from) else {
        return Ok((tree, None));
    };
    match lock::hold(&path) {
        Ok(file) => Ok((tree, Some(file))),
        Err(error) => Err(format!("cannot lock {}: {error}", path.display())),
    }
}

/// Closes what the main program itself was handed by whoever started it: the tree shall hold
/// nothing open but its own three descriptors. Nothing in this process owns any other one yet.
fn close_strays() {
    let open = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    let listed = std::fs::read_dir(open).into_iter().flatten().flatten();
    let descriptors = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let strays: Vec<RawFd> = descriptors.filter(|descriptor| *descriptor > 2).collect();
    for stray in strays {
        // The listing's own descriptor is closed by now.
        let _ = nix::unistd::close(stray);
    }
}

/// A session of its own without a controlling terminal: Ctrl-C reaches the main program alone,
/// and nothing in the tree can read from or take over the user's terminal.
fn leave_the_terminal() {
    // It fails only for the leader of a process group, which the main program never makes of us.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"selvedge-superv");
}
