//! The hidden face `__wall`: it puts the rest of the walls around itself and becomes the program, or,
//! as the first process of a namespace, starts the program, adopts its orphans and tells how it ended.
//!
//! It runs behind the mounts already and trusts nothing there; all it knows came over its socket.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use rustix::process::WaitOptions;
use selvedge_core::model::Backend;

use super::job::{Job, Word};
use super::{landlock, seccomp};
use crate::process::{Control, Exit};

/// Does as it is told over descriptor 0. Call it before anything else.
pub fn main() -> ExitCode {
    let Ok(mut control) = Control::inherited() else {
        return ExitCode::FAILURE;
    };
    let Ok(Some(job)) = control.receive::<Job>() else {
        return ExitCode::FAILURE;
    };
    if let Err(error) = become_it(&job, &mut control) {
        control.tell(&Word::Failed {
            errno: error.raw_os_error(),
            message: error.to_string(),
        });
    }
    // What the keeper exits with says nothing of the program; nobody shall take it for a pass.
    ExitCode::FAILURE
}

fn become_it(job: &Job, control: &mut Control) -> io::Result<()> {
    let mut streams = control.take_descriptors().into_iter();
    let mut next = || streams.next().ok_or(io::ErrorKind::InvalidInput);
    let (stdin, stdout, stderr) = (next()?, next()?, next()?);
    let path = |bytes| PathBuf::from(OsString::from(bytes));
    let temporary = path(&job.temporary);
    match job.plan.backend {
        Backend::Bubblewrap => landlock::scope()?,
        _ => landlock::enclose(&job.plan, &temporary)?,
    }
    let has_own_network = job.plan.backend == Backend::Bubblewrap;
    seccomp::refuse(!job.plan.network && !has_own_network)?;
    control.send(&Word::Entered)?;

    let scratch = match job.plan.backend {
        Backend::Bubblewrap => PathBuf::from("/tmp"),
        _ => temporary,
    };
    let mut command = Command::new(path(&job.program));
    command
        .arg0(OsString::from(&job.name))
        .args(job.args.iter().map(OsString::from))
        .env_clear()
        .envs(
            job.env
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        )
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
    control.send(&Word::Running)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    keep(child.id(), control);
    Ok(())
}

/// Until nothing is left in the namespace.
fn keep(program: u32, control: &mut Control) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let is_program = u32::try_from(pid.as_raw_nonzero().get()) == Ok(program);
                let code = status.exit_status().map(Exit::Code);
                let exit = code.or_else(|| status.terminating_signal().map(Exit::Signal));
                if let Some(exit) = exit.filter(|_| is_program) {
                    control.tell(&Word::Exited(exit));
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
