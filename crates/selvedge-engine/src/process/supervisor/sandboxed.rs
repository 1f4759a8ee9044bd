//! Starts a program in a sandbox. The hidden subcommand `__sandbox-init` of this program (the init process)
//! is started in it, receives over a socket which program to execute, and reports whether that
//! worked. In a process namespace it stays alive, adopts orphans and reports how the program ended;
//! it and the process that holds the namespace belong to the sandbox, not to the program's tree. A
//! container works the same way, except that the init process connects over a socket mounted in the
//! container.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use selvedge_core::model::SandboxBackend;

use super::container::{RemoveContainerError, SessionContainer};
use super::control::ControlSocket;
use super::launch::{
    LaunchedProgram, ResolvedProgram, explain_spawn_error, process_id, spawn_failure,
};
use super::temporary_folder::TemporaryFolder;
use crate::process::command::TAG_VARIABLE;
use crate::process::proc;
use crate::process::session_exit::{ProcessExit, SpawnError, SpawnErrorKind};
use crate::sandbox::{
    ExecRequest, InitMessage, Placeholders, SandboxPlan, bubblewrap_arguments, find_bubblewrap,
    this_program,
};

/// Connection to the init process of a program that runs in its own process namespace.
pub(super) struct NamespaceInit {
    control: ControlSocket,
    /// The processes of the sandbox itself.
    pub(super) sandbox_pids: Vec<i32>,
    /// The first process of the container, if there is one and it is visible.
    pub(super) container: Option<i32>,
    /// Whether it is a container: its processes need not be descendants of this process.
    pub(super) is_container: bool,
    /// The program, unless it ended before its id could be read.
    pub(super) program: Option<i32>,
}

impl NamespaceInit {
    /// Returns the exits reported since the last call; `None` after the init process is gone.
    pub(super) fn poll_exits(&mut self) -> Option<Vec<ProcessExit>> {
        let words: Vec<InitMessage> = match self.control.receive_ready() {
            Ok(words) => words,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(Vec::new()),
            Err(_) => return None,
        };
        let exits = words.into_iter().filter_map(|word| match word {
            InitMessage::Exited(exit) => Some(exit),
            InitMessage::Entered | InitMessage::Running | InitMessage::Failed { .. } => None,
        });
        Some(exits.collect())
    }
}

impl AsFd for NamespaceInit {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// Resources set up for a sandboxed program, removed after it.
pub(super) struct SandboxResources {
    temporary: TemporaryFolder,
    /// Whether the session can write only in the folder's subfolders.
    is_reusable: bool,
    container: Option<SessionContainer>,
    /// Mount points of missing files, which are removed last.
    _placeholders: Placeholders,
}

impl SandboxResources {
    /// Removes all resources, the container before its temporary folder. Returns that folder if the next session can
    /// use it once it is emptied.
    pub(super) fn remove(self) -> Result<Option<TemporaryFolder>, RemoveContainerError> {
        if let Some(container) = self.container {
            container.remove()?;
            return Ok(None);
        }
        Ok(self.is_reusable.then_some(self.temporary))
    }
}

/// An init process in a sandbox that waits for its request.
struct PendingInit {
    /// The started process: the init process itself, or the process that holds its namespace.
    holder: Child,
    control: ControlSocket,
    /// The init process's id in a container, if it is known.
    init_pid: Option<i32>,
}

/// Starts the program with its standard input, output and error. `reusable` is the folder of the last session, for
/// temporary files.
pub(super) fn launch_sandboxed(
    plan: &SandboxPlan,
    found: &ResolvedProgram,
    streams: [OwnedFd; 3],
    reusable: &mut Option<TemporaryFolder>,
) -> Result<LaunchedProgram, SpawnError> {
    let lacking = |what: &str, error: &io::Error| sandbox_failure(&format!("{what}: {error}"));
    let temporary = reusable.take().map_or_else(TemporaryFolder::create, Ok);
    let temporary =
        temporary.map_err(|error| lacking("cannot create a temporary folder", &error))?;
    let errors = memfd_create("errors", MemfdFlags::CLOEXEC);
    let mut errors = File::from(
        errors.map_err(|error| lacking("cannot create a file in memory", &error.into()))?,
    );
    let records = PathBuf::from(&plan.placeholder_records);
    let placeholders = Placeholders::create(&plan.missing, &records)
        .map_err(|error| lacking("cannot protect missing settings files", &error))?;
    let in_container = plan.backend.is_container();
    let container = in_container.then(|| SessionContainer::register(plan, temporary.path()));
    let container = container
        .transpose()
        .map_err(|error| lacking("cannot record the container", &error))?;
    let resources = SandboxResources {
        temporary,
        is_reusable: plan.backend == SandboxBackend::Bubblewrap,
        container,
        _placeholders: placeholders,
    };
    let pending = start_init(plan, found, &resources, &mut errors);
    let launched = pending
        .and_then(|pending| start_program(plan, found, streams, pending, &mut errors, &resources));
    match launched {
        Ok((program, init)) => Ok(LaunchedProgram {
            program,
            init,
            resources: Some(resources),
        }),
        Err(failure) => {
            // The original error is more useful than one of the removal.
            let _ = resources.remove();
            Err(failure)
        }
    }
}

/// Starts the init process.
fn start_init(
    plan: &SandboxPlan,
    found: &ResolvedProgram,
    resources: &SandboxResources,
    errors: &mut File,
) -> Result<PendingInit, SpawnError> {
    let temporary = resources.temporary.path();
    if let Some(container) = &resources.container {
        let called = container.start(plan, found, temporary, errors);
        let called = called.map_err(|error| match error.kind() {
            io::ErrorKind::NotConnected => sandbox_failure(&read_message(errors)),
            _ => sandbox_failure(&error.to_string()),
        })?;
        return Ok(PendingInit {
            holder: called.client,
            control: ControlSocket::new(called.socket),
            init_pid: called.init_pid,
        });
    }
    let lacking = |what: &str, error: &io::Error| sandbox_failure(&format!("{what}: {error}"));
    let (ours, theirs) =
        UnixStream::pair().map_err(|error| lacking("cannot create a socket", &error))?;
    let init_program =
        this_program(temporary).map_err(|error| lacking("cannot find this program", &error))?;
    let mut command = if plan.backend == SandboxBackend::Bubblewrap {
        let program = find_bubblewrap().ok_or_else(|| sandbox_failure("bwrap was not found"))?;
        let mut command = Command::new(program);
        command.args(bubblewrap_arguments(plan, temporary, &init_program));
        command
    } else {
        let mut command = Command::new(&init_program);
        command.arg("__sandbox-init");
        command
    };
    let tag = found.env.iter().find(|(name, _)| name == TAG_VARIABLE);
    let errors = errors.try_clone();
    let holder = command
        .env_clear()
        .envs(tag.map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(errors.map_err(|error| lacking("cannot duplicate a file", &error))?)
        .process_group(0)
        .spawn()
        .map_err(|error| lacking("cannot start a process", &error))?;
    Ok(PendingInit {
        holder,
        control: ControlSocket::new(ours),
        init_pid: None,
    })
}

/// Lets the init process execute or spawn the program; returns the program's id and the connection
/// that reports its exit.
fn start_program(
    plan: &SandboxPlan,
    found: &ResolvedProgram,
    streams: [OwnedFd; 3],
    pending: PendingInit,
    errors: &mut File,
    resources: &SandboxResources,
) -> Result<(i32, Option<NamespaceInit>), SpawnError> {
    let PendingInit {
        holder: child,
        mut control,
        init_pid,
    } = pending;
    let keeps = plan.backend != SandboxBackend::Landlock;
    let job = ExecRequest::new(plan, found, resources.temporary.path(), keeps);
    let followed = run_exec_request(&mut control, &job, &streams);
    // Only the program may hold these ends: their closing marks the end of its output.
    drop(streams);
    match followed {
        InitOutcome::Started => {}
        InitOutcome::Failed(errno) => {
            kill_and_reap(child);
            return Err(start_failure(plan, found, errno));
        }
        InitOutcome::SandboxFailed(why) => {
            kill_and_reap(child);
            return Err(sandbox_failure(
                &why.unwrap_or_else(|| read_message(errors)),
            ));
        }
    }
    let holder = process_id(&child);
    let socket_failure =
        |error: io::Error| sandbox_failure(&format!("cannot use the socket: {error}"));
    control.set_nonblocking().map_err(socket_failure)?;
    if !keeps {
        return Ok((holder, None));
    }
    let in_container = plan.backend.is_container();
    let init = init_pid.or_else(|| {
        let first = || proc::children(holder).first().copied();
        (!in_container).then(first).flatten()
    });
    let program = init.and_then(|init| proc::children(init).first().copied());
    let sandbox_pids = [Some(holder), init].into_iter().flatten().collect();
    let init = NamespaceInit {
        control,
        sandbox_pids,
        container: in_container.then_some(init_pid).flatten(),
        is_container: in_container,
        program,
    };
    Ok((program.unwrap_or(holder), Some(init)))
}

/// Explains why the program itself could not be started.
fn start_failure(plan: &SandboxPlan, found: &ResolvedProgram, errno: i32) -> SpawnError {
    let error = io::Error::from_raw_os_error(errno);
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    match &plan.container {
        // A file at its path on the host implies nothing about the image.
        Some(contained) if is_missing => {
            let name = found.name.to_string_lossy();
            let message = format!("program {name} not found in the image {}", contained.image);
            spawn_failure(SpawnErrorKind::NotFound, Some(errno), message)
        }
        _ if is_missing && !found.name.as_encoded_bytes().contains(&b'/') => {
            let message = format!("program {} not found in PATH", found.name.to_string_lossy());
            spawn_failure(SpawnErrorKind::NotFound, Some(errno), message)
        }
        _ => explain_spawn_error(&error, &plan.host_path(&found.cwd.join(&found.program))),
    }
}

/// How far an init process got.
enum InitOutcome {
    Started,
    /// The program could not be started; contains the error number.
    Failed(i32),
    /// The sandbox could not be entered; contains the reason if one was reported.
    SandboxFailed(Option<String>),
}

fn run_exec_request(
    control: &mut ControlSocket,
    job: &ExecRequest,
    streams: &[OwnedFd],
) -> InitOutcome {
    if let Err(error) = control.send_with_descriptors(job, streams) {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        return InitOutcome::SandboxFailed((!gone).then(|| error.to_string()));
    }
    let mut entered = false;
    loop {
        match control.receive::<InitMessage>() {
            Ok(Some(InitMessage::Entered)) => entered = true,
            Ok(Some(InitMessage::Running)) => return InitOutcome::Started,
            Ok(Some(InitMessage::Failed {
                errno: Some(errno), ..
            })) if entered => {
                return InitOutcome::Failed(errno);
            }
            Ok(Some(InitMessage::Failed { message, .. })) => {
                return InitOutcome::SandboxFailed(Some(message));
            }
            // It executed the program, which closed the socket.
            Ok(None) if entered && !job.keep => return InitOutcome::Started,
            Ok(Some(InitMessage::Exited(_)) | None) | Err(_) => {
                return InitOutcome::SandboxFailed(None);
            }
        }
    }
}

fn sandbox_failure(why: &str) -> SpawnError {
    let message = format!("cannot set up the sandbox: {why}");
    spawn_failure(SpawnErrorKind::Sandbox, None, message)
}

/// Reads its output, which may contain an error instead of a message.
fn read_message(errors: &mut File) -> String {
    let mut words = String::new();
    let read = errors
        .rewind()
        .and_then(|()| errors.take(1_000).read_to_string(&mut words));
    match (read, words.trim()) {
        (Ok(_), words) if !words.is_empty() => words.to_owned(),
        _ => "it exited without a message".to_owned(),
    }
}

fn kill_and_reap(mut child: Child) {
    // It has nothing left to do.
    let _ = child.kill();
    let _ = child.wait();
}
