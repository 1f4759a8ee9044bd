//! Probes a sandbox: a regular session inside of it attempts everything that must be denied, and reports which
//! attempts succeeded. An attempt that succeeds is a restriction that is not enforced.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, getppid, pidfd_getfd, pidfd_open, test_kill_process,
};
use rustix::thread::no_new_privs;
use selvedge_core::model::{Restriction, SandboxBackend, SandboxReport};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::container::ContainerError;
use super::paths::SandboxPaths;
use super::portable::{self, PortableProgram};
use super::setup::{SandboxVariant, SessionKind};
use super::temporary_paths::is_temporary_folder;
use super::{SandboxContext, WorkspaceSandbox, landlock};
use crate::process::capture::CapturePlan;
use crate::process::{
    self, EndReason, PrepareError, Session, SessionCommand, SessionTimeouts, SpawnError, Supervisor,
};

/// A probe takes milliseconds, and the start of a container some hundreds.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

const SECRET: &str = "secret";
const SOCKET: &str = "socket";
const FILE: &str = "file";

/// The attempts.
#[derive(Debug, Serialize, Deserialize)]
struct ProbeAttempts {
    /// Must be writable: otherwise the sandbox is useless.
    workspace: PathBuf,
    /// A file that must not be created.
    outside: PathBuf,
    /// A file in a cache of the home, which agents must not create.
    cache: Option<PathBuf>,
    /// Must not be readable; contains a socket, too.
    masked: PathBuf,
    /// A file among other users' temporary files.
    temporary: PathBuf,
    /// A file in shared memory, if there is any.
    shared_memory: Option<PathBuf>,
    /// Name of an abstract socket.
    name: String,
    /// A port with a listener.
    port: u16,
    /// A process outside.
    pid: i32,
}

/// Attempts that succeeded.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ProbeResults {
    wrote_inside: bool,
    wrote_outside: bool,
    wrote_cache: bool,
    read_masked: bool,
    saw_process: bool,
    reached_reporter: bool,
    reached_name: bool,
    reached_socket: bool,
    saw_temporary: bool,
    reached_network: bool,
    changed_attributes: bool,
    reached_shared_memory: bool,
    /// Whether programs with the set-user-id bit run as their owner.
    gains_privileges: bool,
}

/// Why a sandbox does not work here.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    /// The targets of the attempts cannot be created, or this program is not found.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    EncodeAttempts(serde_json::Error),
    #[error(transparent)]
    Container(#[from] ContainerError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("a probe ended unexpectedly ({reason:?}) {stderr}")]
    Ended { reason: EndReason, stderr: String },
    #[error("a probe printed no result: {0}")]
    NoResult(#[source] serde_json::Error),
    #[error("the workspace cannot be written in it")]
    WorkspaceReadOnly,
    #[error(
        "it is not effective: {path} could be written{}",
        explain_writable_home(path)
    )]
    FileWritable { path: PathBuf },
    #[error("it is not effective: a hidden file could be read")]
    FileReadable,
    #[error("it is not effective: exit codes could be forged")]
    ExitCodesForgeable,
    #[error("it is not effective: programs with the set-user-id bit run as their owner")]
    PrivilegesGained,
    /// Message of an earlier probe.
    #[error("{0}")]
    Remembered(String),
}

/// Makes all attempts, and returns which restrictions are enforced.
pub(super) async fn run_probe(
    kind: SandboxVariant<'_>,
    context: &SandboxContext,
    supervisor: &Supervisor,
) -> Result<SandboxReport, ProbeError> {
    let fixture = ProbeFixture::create(context)?;
    let attempts = fixture.attempts(kind, context)?;
    let attempts_json = serde_json::to_string(&attempts).map_err(ProbeError::EncodeAttempts)?;
    let context = SandboxContext {
        workspace: attempts.workspace.clone(),
        ..context.clone()
    };
    let sandbox = WorkspaceSandbox::for_probe(kind, &context, attempts.masked.clone())?;
    let own = probe_command(kind.backend, &attempts.workspace)?.into_iter();
    let argv: Vec<OsString> = own
        .chain(["__sandbox-probe".into(), attempts_json.into()])
        .collect();
    let environment = context.environment.iter();
    let command = SessionCommand {
        env: environment
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        ..SessionCommand::new(argv, &attempts.workspace, "probe.1")
    };
    let supervisor = Supervisor::new(&supervisor.program, supervisor.args.clone());
    let supervisor = supervisor.with_sandbox(Some(sandbox));
    let prepared = Session::prepare(&supervisor, &command).await?;
    let limits = SessionTimeouts {
        wall: Some(PROBE_TIMEOUT),
        idle: None,
    };
    let never = CancellationToken::new();
    let ended = process::run(prepared, limits, CapturePlan::default(), &never).await;
    supervisor.shutdown().await;
    let results = match ended.reason {
        EndReason::Exited(0) => serde_json::from_slice::<ProbeResults>(&ended.stdout.head),
        EndReason::SpawnFailed(failure) => return Err(failure.into()),
        reason => {
            let stderr = String::from_utf8_lossy(&ended.stderr.head)
                .trim()
                .to_owned();
            return Err(ProbeError::Ended { reason, stderr });
        }
    };
    let mut done = results.map_err(ProbeError::NoResult)?;
    // Writing succeeds in a folder that is not shared with this machine, but the file is not
    // created here.
    done.wrote_outside = fs::remove_file(&attempts.outside).is_ok();
    done.wrote_cache = attempts
        .cache
        .is_some_and(|cache| fs::remove_file(cache).is_ok());
    evaluate(kind, &done, &attempts.outside)
}

/// Command line of this program inside of the sandbox.
fn probe_command(backend: SandboxBackend, folder: &Path) -> io::Result<Vec<OsString>> {
    let own = portable::this_program(folder)?;
    if !backend.is_container() {
        return Ok(vec![own.into()]);
    }
    let portable = PortableProgram::for_this_process(&own)?;
    Ok(portable.command().into_iter().map(Into::into).collect())
}

/// Why a file in the home can be written, if the home is a folder that every session may write.
fn explain_writable_home(path: &Path) -> String {
    let shared = path.parent().filter(|home| is_shared(home));
    shared.map_or_else(String::new, |home| {
        format!(
            ", because HOME is {}, a folder for temporary files, which this backend leaves writable; set HOME to \
             another folder, or use the backend bubblewrap",
            home.display()
        )
    })
}

fn is_shared(home: &Path) -> bool {
    is_temporary_folder(home) || home == Path::new(landlock::SHARED_MEMORY)
}

/// Whether the home is a folder that every session may write: results for other homes do not apply to it.
pub(super) fn has_shared_home() -> bool {
    outside_folder().is_some_and(|home| is_shared(&home))
}

fn evaluate(
    kind: SandboxVariant<'_>,
    done: &ProbeResults,
    outside: &Path,
) -> Result<SandboxReport, ProbeError> {
    if !done.wrote_inside {
        return Err(ProbeError::WorkspaceReadOnly);
    }
    // A sandbox has to deny at least these.
    if done.wrote_outside {
        let path = outside.to_owned();
        return Err(ProbeError::FileWritable { path });
    }
    if done.read_masked {
        return Err(ProbeError::FileReadable);
    }
    if done.reached_reporter {
        return Err(ProbeError::ExitCodesForgeable);
    }
    if done.gains_privileges {
        return Err(ProbeError::PrivilegesGained);
    }
    let tried = [
        (Restriction::Writes, done.wrote_outside),
        (Restriction::Secrets, done.read_masked),
        (Restriction::Processes, done.saw_process),
        (
            Restriction::Sockets,
            done.reached_name || done.reached_socket,
        ),
        (Restriction::Temporary, done.saw_temporary),
        (Restriction::Network, done.reached_network),
        (Restriction::Caches, done.wrote_cache),
        (Restriction::Attributes, done.changed_attributes),
        (Restriction::Ipc, done.reached_shared_memory),
    ];
    // Checks may write the caches that they read.
    let is_meant =
        |hold: Restriction| hold != Restriction::Caches || kind.sessions == SessionKind::Agent;
    let those = |could: bool| {
        let those = tried.iter().filter(|(_, done)| *done == could);
        let those = those.filter(|(hold, _)| is_meant(*hold));
        those.map(|(hold, _)| *hold).collect()
    };
    Ok(SandboxReport {
        backend: kind.backend,
        profile: kind.profile,
        holds: those(false),
        open: those(true),
        ..SandboxReport::default()
    })
}

/// Targets of the attempts.
struct ProbeFixture {
    folder: TempDir,
    temporary: tempfile::NamedTempFile,
    shared_memory: Option<tempfile::NamedTempFile>,
    name: String,
    _named: UnixListener,
    _masked: UnixListener,
    listener: TcpListener,
}

impl ProbeFixture {
    fn create(context: &SandboxContext) -> io::Result<Self> {
        fs::create_dir_all(&context.state)?;
        let folder = tempfile::Builder::new()
            .prefix("probe-")
            .tempdir_in(&context.state)?;
        for name in ["workspace", "outside", "masked"] {
            fs::create_dir(folder.path().join(name))?;
        }
        fs::write(folder.path().join("masked").join(SECRET), SECRET)?;
        let file_in = |place: &str| {
            tempfile::Builder::new()
                .prefix("selvedge-probe-")
                .tempfile_in(place)
        };
        let name = format!("selvedge-probe-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name)?;
        Ok(Self {
            _named: UnixListener::bind_addr(&address)?,
            _masked: UnixListener::bind(folder.path().join("masked").join(SOCKET))?,
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            name,
            folder,
            temporary: file_in("/tmp")?,
            shared_memory: file_in("/dev/shm").ok(),
        })
    }

    fn attempts(
        &self,
        kind: SandboxVariant<'_>,
        context: &SandboxContext,
    ) -> io::Result<ProbeAttempts> {
        let root = self.folder.path().canonicalize()?;
        let probe = format!(".selvedge-probe-{}", std::process::id());
        let caches = SandboxPaths::new(context.environment.clone()).caches();
        let cache = caches.into_iter().find(|path| path.is_dir());
        let cache = cache.filter(|_| kind.sessions == SessionKind::Agent);
        Ok(ProbeAttempts {
            workspace: root.join("workspace"),
            outside: outside_folder()
                .unwrap_or_else(|| root.join("outside"))
                .join(&probe),
            cache: cache.map(|cache| cache.join(probe)),
            masked: root.join("masked"),
            temporary: self.temporary.path().to_owned(),
            shared_memory: self.shared_memory.as_ref().map(|it| it.path().to_owned()),
            name: self.name.clone(),
            port: self.listener.local_addr()?.port(),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
        })
    }
}

/// The home, if it is writable without a sandbox.
fn outside_folder() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let writable = rustix::fs::access(&home, rustix::fs::Access::WRITE_OK).is_ok();
    (home.is_absolute() && writable).then_some(home)
}

/// The hidden subcommand `__sandbox-probe`: makes the attempts that its argument lists.
pub fn main(args: &[OsString]) -> ExitCode {
    let argument = args.first().and_then(|arg| arg.to_str());
    let Some(attempts) =
        argument.and_then(|argument| serde_json::from_str::<ProbeAttempts>(argument).ok())
    else {
        return ExitCode::FAILURE;
    };
    let done = attempts.run();
    let bytes = serde_json::to_vec(&done).map_err(io::Error::from);
    match bytes.and_then(|bytes| io::stdout().write_all(&bytes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

impl ProbeAttempts {
    fn run(&self) -> ProbeResults {
        let named = SocketAddr::from_abstract_name(&self.name);
        let pid = Pid::from_raw(self.pid);
        let environ = fs::read(format!("/proc/{}/environ", self.pid));
        ProbeResults {
            wrote_inside: fs::write(self.workspace.join(FILE), "").is_ok(),
            wrote_outside: fs::write(&self.outside, "").is_ok(),
            wrote_cache: self
                .cache
                .as_ref()
                .is_some_and(|cache| fs::write(cache, "").is_ok()),
            read_masked: fs::read(self.masked.join(SECRET)).is_ok(),
            saw_process: environ.is_ok() || pid.is_some_and(|pid| test_kill_process(pid).is_ok()),
            reached_reporter: can_reach_into(getppid()),
            reached_name: named.is_ok_and(|named| UnixStream::connect_addr(&named).is_ok()),
            reached_socket: UnixStream::connect(self.masked.join(SOCKET)).is_ok(),
            saw_temporary: fs::read(&self.temporary).is_ok(),
            reached_network: TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok(),
            changed_attributes: change_mode(&self.temporary).is_ok(),
            reached_shared_memory: self
                .shared_memory
                .as_ref()
                .is_some_and(|file| fs::read(file).is_ok()),
            gains_privileges: !no_new_privs().is_ok_and(|is_set| is_set),
        }
    }
}

fn change_mode(file: &Path) -> io::Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o640))
}

/// Whether the memory or a descriptor of a process is accessible: the parent of a session's program reports its exit.
fn can_reach_into(process: Option<Pid>) -> bool {
    let Some(process) = process else {
        return false;
    };
    let memory = fs::File::open(format!("/proc/{}/mem", process.as_raw_nonzero()));
    let opened = pidfd_open(process, PidfdFlags::empty());
    let taken = opened.and_then(|opened| {
        let own = rustix::stdio::raw_stdin();
        pidfd_getfd(opened, own, PidfdGetfdFlags::empty())
    });
    memory.is_ok() || taken.is_ok()
}
