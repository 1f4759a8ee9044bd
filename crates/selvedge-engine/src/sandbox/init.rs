//! The hidden subcommand `__sandbox-init`, the sandbox's init process: it applies the remaining restrictions to itself and
//! then becomes the program; or, as the first process of a namespace, it starts the program, reaps orphans and reports
//! the program's exit.
//!
//! It runs inside of the mounts already and trusts nothing there; all its input comes over its socket.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::libc;
use rustix::process::WaitOptions;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use selvedge_core::model::SandboxBackend;

use super::exec_request::{ExecRequest, InitMessage};
use super::{container, landlock, seccomp};
use crate::environment::deny_inspection;
use crate::process::{ControlSocket, DEFAULT_PATH, ProcessExit, find_program};

/// Variable with the folder in which Chromium creates its folder of profiles.
const CHROMIUM_PROFILES: &str = "CHROME_CONFIG_HOME";

/// Carries out the request that it reads from descriptor 0, or from the socket at the path in its argument. Must be
/// called before anything else.
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
    // The init process's exit code is independent of the program's; it must not be mistaken for a pass.
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
    seccomp::install_filter(&job.plan)?;
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
        .env("TMPDIR", &scratch)
        .env_remove("TMP")
        .env_remove("TEMP")
        // Chromium does not start without a folder for profiles, which it would create in the home.
        .env(CHROMIUM_PROFILES, scratch.join("chromium"))
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

/// Prevents the processes that this one will start from tracing it, reading or writing its memory, or taking its
/// descriptors: a process with its socket can forge an exit. The kernel refuses this to processes without
/// `CAP_SYS_PTRACE` in the user namespace in which this program was executed. A container's settings may have given
/// that capability to this process; no program regains it without new privileges.
fn deny_tracing() -> io::Result<()> {
    deny_inspection()?;
    let mut sets = capabilities(None)?;
    sets.effective -= CapabilitySet::SYS_PTRACE;
    sets.permitted -= CapabilitySet::SYS_PTRACE;
    sets.inheritable -= CapabilitySet::SYS_PTRACE;
    Ok(set_capabilities(None, sets)?)
}

/// The program's file and its environment; in a container both depend on the image.
fn resolve_program(job: &ExecRequest) -> io::Result<(PathBuf, Vec<(OsString, OsString)>)> {
    let environment = job.env.iter();
    let environment =
        environment.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment: Vec<_> = environment.collect();
    if !job.plan.has_foreign_files() {
        return Ok((PathBuf::from(&job.program), environment));
    }
    let env = if job.plan.backend.is_container() {
        container::merge_environment(std::env::vars_os(), &environment, &job.plan)
    } else {
        environment
    };
    let path = env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value.as_os_str());
    let (name, cwd) = (OsString::from(&job.program), PathBuf::from(&job.cwd));
    if name.as_encoded_bytes().contains(&b'/') {
        // Starting it gives the best error.
        return Ok((cwd.join(name), env));
    }
    let found = find_program(name, path, &cwd);
    let found = found.ok_or(io::Error::from_raw_os_error(libc::ENOENT))?;
    Ok((found, env))
}

/// Reaps processes until the namespace is empty.
fn reap_until_empty(program: u32, control: &mut ControlSocket) {
    let mut program = Some(program);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let is_program = u32::try_from(pid.as_raw_nonzero().get()).ok() == program;
                // If this process traces the program, it may be reported as stopped, which is not an exit.
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
