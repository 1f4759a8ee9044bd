//! The hidden face `__wall`: it puts the rest of the walls around itself and becomes the program, or,
//! as the first process of a namespace, starts the program, adopts its orphans and tells how it ended.
//!
//! It runs behind the mounts already and trusts nothing there; all it knows came over its socket.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::libc;
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use selvedge_core::model::SandboxBackend;

use super::exec_request::{ExecRequest, InitMessage};
use super::{container, landlock, seccomp};
use crate::process::{ControlSocket, DEFAULT_PATH, ProcessExit, find_program};

/// Does as it is told over descriptor 0, or over the socket at the path that its argument names. Call it
/// before anything else.
pub fn main(args: &[OsString]) -> ExitCode {
    let control = match args.first() {
        Some(path) => UnixStream::connect(path).map(ControlSocket::new),
        None => ControlSocket::inherited(),
    };
    let Ok(mut control) = control else {
        return ExitCode::FAILURE;
    };
    let Ok(Some(job)) = control.receive::<ExecRequest>() else {
        return ExitCode::FAILURE;
    };
    if let Err(error) = exec(&job, &mut control) {
        control.send_or_ignore(&InitMessage::Failed {
            errno: error.raw_os_error(),
            message: error.to_string(),
        });
    }
    // What the keeper exits with says nothing of the program; nobody shall take it for a pass.
    ExitCode::FAILURE
}

fn exec(job: &ExecRequest, control: &mut ControlSocket) -> io::Result<()> {
    let mut streams = control.take_descriptors().into_iter();
    let mut next = || streams.next().ok_or(io::ErrorKind::InvalidInput);
    let (stdin, stdout, stderr) = (next()?, next()?, next()?);
    let path = |bytes| PathBuf::from(OsString::from(bytes));
    let temporary = path(&job.temporary);
    let has_own_root = job.plan.backend != SandboxBackend::Landlock;
    if job.keep {
        deny_tracing()?;
    }
    if has_own_root {
        landlock::apply_scope()?;
    } else {
        landlock::restrict(&job.plan, &temporary)?;
    }
    let has_own_network = has_own_root;
    seccomp::install_filter(!job.plan.network && !has_own_network)?;
    control.send(&InitMessage::Entered)?;

    let scratch = if has_own_root {
        PathBuf::from("/tmp")
    } else {
        temporary
    };
    let (program, env) = resolve_program(job)?;
    let mut command = Command::new(program);
    command
        .arg0(OsString::from(&job.name))
        .args(job.args.iter().map(OsString::from))
        .env_clear()
        .envs(env)
        .env("TMPDIR", scratch)
        .env_remove("TMP")
        .env_remove("TEMP")
        .current_dir(path(&job.cwd))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    if !job.keep {
        return Err(command.exec());
    }
    let child = command.spawn()?;
    drop(command);
    control.send(&InitMessage::Running)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    reap_until_empty(child.id(), control);
    Ok(())
}

/// Keeps what this process will start from tracing it, from reading and writing its memory and from
/// taking its descriptors: whoever holds its socket can forge an exit. The kernel refuses all of that
/// to whoever lacks `CAP_SYS_PTRACE` in the user namespace that this program was executed in, which a
/// container may have been given by its settings; no program regains it without new privileges.
fn deny_tracing() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let mut sets = capabilities(None)?;
    sets.effective -= CapabilitySet::SYS_PTRACE;
    sets.permitted -= CapabilitySet::SYS_PTRACE;
    sets.inheritable -= CapabilitySet::SYS_PTRACE;
    Ok(set_capabilities(None, sets)?)
}

/// The program's file and its environment; in an image both are what the image makes of them.
fn resolve_program(job: &ExecRequest) -> io::Result<(PathBuf, Vec<(OsString, OsString)>)> {
    let told = job.env.iter();
    let told = told.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let told: Vec<_> = told.collect();
    if !job.plan.has_foreign_files() {
        return Ok((PathBuf::from(&job.program), told));
    }
    let env = if job.plan.backend.is_container() {
        container::merge_environment(std::env::vars_os(), &told, &job.plan)
    } else {
        told
    };
    let path = env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value.as_os_str());
    let (name, cwd) = (OsString::from(&job.program), PathBuf::from(&job.cwd));
    if name.as_encoded_bytes().contains(&b'/') {
        // Starting it reports best what is wrong with it.
        return Ok((cwd.join(name), env));
    }
    let found = find_program(name, path, &cwd);
    let found = found.ok_or(io::Error::from_raw_os_error(libc::ENOENT))?;
    Ok((found, env))
}

/// Until nothing is left in the namespace.
fn reap_until_empty(program: u32, control: &mut ControlSocket) {
    let mut program = Some(program);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let is_program = u32::try_from(pid.as_raw_nonzero().get()).ok() == program;
                // A program that is traced by this process may be stopped, which is no exit.
                if let Some(exit) = ProcessExit::from_wait_status(status).filter(|_| is_program) {
                    control.send_or_ignore(&InitMessage::Exited(exit));
                    // Its number may be given to another process.
                    program = None;
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
