//! Starts the program and determines why it could not be started: a missing program is a problem of
//! the user's configuration, a missing directory may be caused by the agent, and neither is a
//! failed check.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::fs::{Access, MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::sandboxed::{self, NamespaceInit, SandboxResources};
use super::temporary_folder::TemporaryFolder;
use crate::process::program_lookup;
use crate::process::session_exit::{SpawnError, SpawnErrorKind};
use crate::process::wire::{SessionSpec, StdinSpec};
use crate::sandbox::SandboxPlan;

/// A running program.
pub(super) struct LaunchedProgram {
    pub(super) program: i32,
    /// Reports its exit, if it runs in its own process namespace.
    pub(super) init: Option<NamespaceInit>,
    /// Resources of its sandbox, if there is one.
    pub(super) resources: Option<SandboxResources>,
}

/// A program to start, after lookup.
pub(crate) struct ResolvedProgram {
    pub(crate) name: OsString,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
}

/// Starts the program in its own process group, so that `kill 0` does not hit the supervisor.
/// Closes our ends of its output. `reusable` is a folder for temporary files that may be used.
pub(super) fn launch_program(
    spec: &SessionSpec,
    output: Vec<OwnedFd>,
    reusable: &mut Option<TemporaryFolder>,
) -> Result<LaunchedProgram, SpawnError> {
    let argv: Vec<OsString> = spec.argv.iter().map(OsString::from).collect();
    let env: Vec<(OsString, OsString)> = spec
        .env
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let cwd = PathBuf::from(&spec.cwd);
    let Some((name, args)) = argv.split_first() else {
        return Err(spawn_failure(
            SpawnErrorKind::Other,
            None,
            "empty command line".to_owned(),
        ));
    };
    let sandbox_plan = spec.sandbox.as_ref();
    check_directory(&sandbox_plan.map_or_else(|| cwd.clone(), |plan| plan.host_path(&cwd)))?;
    let program = if sandbox_plan.is_some_and(SandboxPlan::has_foreign_files) {
        // Only the sandbox knows which programs exist in it.
        PathBuf::from(name)
    } else {
        find_program_path(name, &env, &cwd)?
    };
    let (stdout, stderr) = output_descriptors(output)?;
    let stdin = open_stdin(&spec.stdin)?;
    if let Some(plan) = &spec.sandbox {
        let found = ResolvedProgram {
            name: name.clone(),
            args: args.to_vec(),
            program,
            env,
            cwd,
        };
        let streams = [stdin.into(), stdout, stderr];
        return sandboxed::launch_sandboxed(plan, &found, streams, reusable);
    }
    let child = Command::new(&program)
        .arg0(name)
        .args(args)
        .env_clear()
        .envs(env)
        .current_dir(&cwd)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(|error| explain_spawn_error(&error, &program))?;
    Ok(LaunchedProgram {
        program: process_id(&child),
        init: None,
        resources: None,
    })
}

/// Process ids fit: the kernel's own type is signed.
pub(super) fn process_id(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(i32::MAX)
}

fn open_stdin(spec: &StdinSpec) -> Result<File, SpawnError> {
    let path = match spec {
        StdinSpec::Null => PathBuf::from("/dev/null"),
        StdinSpec::File(path) => PathBuf::from(path),
    };
    let opened = File::open(&path).and_then(|file| {
        if file.metadata()?.is_file() {
            sealed_copy(file)
        } else {
            Ok(file)
        }
    });
    opened.map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        spawn_failure(SpawnErrorKind::Stdin, error.raw_os_error(), message)
    })
}

/// Copies a file into memory that cannot be written. With a descriptor of the file itself, a program could open it for
/// writing by its name in `/proc/self/fd`, where no mount of its sandbox applies.
fn sealed_copy(mut file: File) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut copy = File::from(memfd_create("stdin", flags)?);
    io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    fcntl_add_seals(
        &copy,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(copy)
}

/// Standard output and standard error: one descriptor each, or one for both.
fn output_descriptors(output: Vec<OwnedFd>) -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let lacking = |message: String| spawn_failure(SpawnErrorKind::Other, None, message);
    let mut output = output.into_iter();
    let stdout = output.next();
    let stdout = stdout.ok_or_else(|| lacking("no file descriptor for the output".to_owned()))?;
    let stderr = match output.next() {
        Some(stderr) => stderr,
        None => stdout
            .try_clone()
            .map_err(|error| lacking(format!("cannot merge the outputs: {error}")))?,
    };
    Ok((stdout, stderr))
}

/// Whether the directory can be entered; a failed spawn does not show which path its error is
/// about.
fn check_directory(cwd: &Path) -> Result<(), SpawnError> {
    let entered = rustix::fs::access(cwd.join("."), Access::EXEC_OK);
    entered.map_err(|errno| {
        let message = format!(
            "cannot use {} as working directory: {}",
            cwd.display(),
            io::Error::from(errno)
        );
        spawn_failure(
            SpawnErrorKind::WorkingDirectory,
            Some(errno.raw_os_error()),
            message,
        )
    })
}

/// The path of a program, according to the `PATH` that it gets itself.
fn find_program_path(
    name: &OsStr,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<PathBuf, SpawnError> {
    if name.as_encoded_bytes().contains(&b'/') {
        // Trying to start it gives the most precise error.
        return Ok(cwd.join(name));
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(program_lookup::DEFAULT_PATH), |(_, value)| value);
    if let Some(program) = program_lookup::find_program(name, path, cwd) {
        return Ok(program);
    }
    let mut files = program_lookup::candidate_paths(name, path, cwd)
        .into_iter()
        .filter(|file| file.is_file());
    if let Some(forbidden) = files.next() {
        return Err(explain_spawn_error(&Errno::ACCESS.into(), &forbidden));
    }
    let message = format!("program {} not found in PATH", name.to_string_lossy());
    let errno = Some(Errno::NOENT.raw_os_error());
    Err(spawn_failure(SpawnErrorKind::NotFound, errno, message))
}

/// Explains a failed spawn of a program at a known path.
pub(super) fn explain_spawn_error(error: &io::Error, program: &Path) -> SpawnError {
    let shown = program.display();
    let (kind, message) = match Errno::from_io_error(error) {
        Some(Errno::NOENT) if program.exists() => (
            SpawnErrorKind::InterpreterNotFound,
            format!("the interpreter of {shown} is missing"),
        ),
        Some(Errno::NOENT | Errno::NOTDIR) => (
            SpawnErrorKind::NotFound,
            format!("program {shown} not found"),
        ),
        Some(Errno::ACCESS | Errno::PERM) => (
            SpawnErrorKind::PermissionDenied,
            format!("{shown} is not executable"),
        ),
        Some(Errno::NOEXEC) => (
            SpawnErrorKind::ExecFormat,
            format!("{shown} is not a program (a script needs a first line such as #!/bin/sh)"),
        ),
        Some(Errno::TOOBIG) => (
            SpawnErrorKind::TooLong,
            format!("arguments and environment of {shown} are too long"),
        ),
        _ => (
            SpawnErrorKind::Other,
            format!("cannot execute {shown}: {error}"),
        ),
    };
    spawn_failure(kind, error.raw_os_error(), message)
}

pub(super) fn spawn_failure(
    kind: SpawnErrorKind,
    errno: Option<i32>,
    message: String,
) -> SpawnError {
    SpawnError {
        kind,
        errno,
        message,
    }
}
