//! Calls git so that only its own code runs: an absolute path outside the workspace, an environment of a few fixed
//! variables, and no settings except those set here. A call always names its git directory, which is one of Selvedge's,
//! except where `status.rs` reads the settings of the user's repository as data.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::error::WorkspaceError;
use crate::environment::host_env;
use crate::process::spawn_with_blocked_signals;

/// Time limit of one call.
const CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// After this time, files are searched for that git waits for.
const SEARCH_DELAY: Duration = Duration::from_secs(2);

/// Files in work trees that git opens by their names.
const OPENED_FILES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];

/// Maximum number of entries that are searched for such files.
const MAX_SEARCHED: usize = 1_000_000;

/// Settings that override all configuration files.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.untrackedCache=false",
    "core.quotePath=false",
    // Names that are dangerous on other systems are ordinary files here.
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The complete environment of a call, besides `PATH` and `GIT_DIR`.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// Settings of a call with the user's own configuration.
const USER_SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // Abort stalled connections.
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
];

/// Variables that would redirect a call to another repository, if Selvedge was started by git.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// The git program.
#[derive(Debug, Clone)]
pub(crate) struct GitProgram {
    program: PathBuf,
}

impl GitProgram {
    /// Finds git on `PATH`. Ignores relative entries and programs inside `workspace`, because an agent can write there.
    pub(crate) fn find(workspace: &Path) -> Result<Self, WorkspaceError> {
        let path = env::var_os("PATH").unwrap_or_default();
        Self::find_on(&path, workspace).ok_or(WorkspaceError::GitMissing)
    }

    fn find_on(path: &OsStr, workspace: &Path) -> Option<Self> {
        env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("git"))
            .find(|program| is_program(program) && !is_inside(program, workspace))
            .map(|program| Self { program })
    }

    /// Creates a call that may use the network with the user's credentials: it has their environment and settings, but
    /// no hooks, no programs that a repository could name, and no terminal prompts.
    pub(crate) fn user_command(&self, from: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // Programs that git asks for credentials may take them from the environment.
        command.envs(host_env());
        for name in REPOSITORY_VARIABLES {
            command.env_remove(name);
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .current_dir(from)
            .process_group(0);
        for setting in USER_SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Creates a call on `git_dir`, in the folder `from`, to which the caller adds a subcommand.
    pub(crate) fn command(&self, git_dir: &Path, from: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(ENVIRONMENT.iter().copied());
        if let Some(beside) = self.program.parent() {
            command.env("PATH", beside);
        }
        command.env("GIT_DIR", git_dir).current_dir(from);
        // Ctrl-C is for Selvedge only, which then stops in order. A call that was interrupted would look like a damaged
        // snapshot.
        command.process_group(0);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Returns whether the program or its link target is inside `folder` (which is canonical).
fn is_inside(program: &Path, folder: &Path) -> bool {
    program.starts_with(folder)
        || fs::canonicalize(program).is_ok_and(|target| target.starts_with(folder))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Runs `command` and returns its standard output. Any exit status but 0 is an error.
pub(crate) fn output_of(
    command: Command,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    output_within(command, CALL_TIMEOUT, doing, place)
}

/// Runs `command` like [`output_of`], with another time limit.
pub(crate) fn output_within(
    command: Command,
    limit: Duration,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    successful_output(
        run_within(command, limit, None, doing, place)?,
        doing,
        place,
    )
}

/// Runs `command`, which reads the work tree at `place`, and returns its standard output.
///
/// # Errors
/// It fails, or it waits for a pipe.
pub(super) fn output_for_work_tree(
    command: Command,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    let output = run_within(command, CALL_TIMEOUT, Some(place), doing, place)?;
    successful_output(output, doing, place)
}

fn successful_output(
    output: Output,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let status = output.status.to_string();
    Err(WorkspaceError::git(doing, place, status, &output.stderr))
}

/// Runs `command` with this standard input and returns its standard output.
pub(crate) fn output_with_input(
    mut command: Command,
    input: Vec<u8>,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    let (reader, mut writer) = io::pipe().map_err(|e| WorkspaceError::io(doing, place, e))?;
    command.stdin(reader);
    // A program that ends early reports it by its exit status.
    thread::spawn(move || drop(writer.write_all(&input)));
    output_of(command, doing, place)
}

/// Runs `command` to its end and returns its output, regardless of its exit status.
pub(crate) fn run(
    command: Command,
    doing: &'static str,
    place: &Path,
) -> Result<Output, WorkspaceError> {
    run_within(command, CALL_TIMEOUT, None, doing, place)
}

fn run_within(
    mut command: Command,
    limit: Duration,
    work_tree: Option<&Path>,
    doing: &'static str,
    place: &Path,
) -> Result<Output, WorkspaceError> {
    let to_error = |e| WorkspaceError::io(doing, place, e);
    let mut child = spawn_with_blocked_signals(|| command.spawn()).map_err(to_error)?;
    let stdout = read_in_thread(child.stdout.take());
    let stderr = read_in_thread(child.stderr.take());
    let mut received = stdout.recv_timeout(SEARCH_DELAY.min(limit));
    if received.is_err() {
        if let Some(pipe) = work_tree.and_then(find_pipe) {
            kill_child(&mut child);
            return Err(WorkspaceError::WaitsForPipe { doing, path: pipe });
        }
        received = stdout.recv_timeout(limit.saturating_sub(SEARCH_DELAY));
    }
    let Ok(stdout) = received else {
        kill_child(&mut child);
        return Err(WorkspaceError::GitTimeout {
            doing,
            place: place.to_owned(),
            seconds: limit.as_secs(),
        });
    };
    let status = child.wait().map_err(to_error)?;
    let stderr = stderr.recv().unwrap_or_else(|_| Ok(Vec::new()));
    Ok(Output {
        status,
        stdout: stdout.map_err(to_error)?,
        stderr: stderr.map_err(to_error)?,
    })
}

/// Finds a file that git opens and that is neither a file nor a link nor a folder: reading a pipe does not end.
fn find_pipe(work_tree: &Path) -> Option<PathBuf> {
    let mut pending = vec![work_tree.to_owned()];
    let mut searched = 0;
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            searched += 1;
            if searched > MAX_SEARCHED {
                return None;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let is_opened = || OPENED_FILES.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() {
                pending.push(entry.path());
            } else if !kind.is_file() && !kind.is_symlink() && is_opened() {
                return Some(entry.path());
            }
        }
    }
    None
}

/// Kills a child and waits for it, so that no zombie remains.
pub(super) fn kill_child(child: &mut Child) {
    // Both fail only if the child has already exited.
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads a pipe in another thread: two pipes that are read in turn would block each other.
fn read_in_thread<R: Read + Send + 'static>(
    pipe: Option<R>,
) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
        // The receiver is gone if the call has timed out.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}
