//! What a session is to run, and through which supervisor program. Plain data, complete before
//! anything starts: the environment is exact, nothing is inherited from the main program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use selvedge_core::model::AgentKind;
use selvedge_core::redact::Redactor;

use super::pool::SupervisorPool;
use crate::sandbox::WorkspaceSandbox;

/// The environment variable that marks every process of a session, as `<run>.<n>`. It is how
/// the clean-up of processes finds a tree whose supervisor died.
pub const TAG_VARIABLE: &str = "SELVEDGE_SESSION";

/// The program that calls [`supervisor::main`](super::supervisor::main). Clones share the processes
/// that wait for their next session; what one session may not touch of another goes through a
/// supervisor of its own.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// Its path; it is not looked up in `PATH`.
    pub program: PathBuf,
    /// The arguments that make it call the supervisor.
    pub args: Vec<OsString>,
    pub(super) pool: SupervisorPool,
    /// What stands around every program that it starts.
    pub(super) sandbox: Option<WorkspaceSandbox>,
    /// What is taken out of all that its programs print.
    pub(super) redactor: Redactor,
    /// Variables that checks see beyond those that all see.
    env_allowlist: Vec<String>,
}

impl Supervisor {
    /// A program, and the arguments that make it call the supervisor.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().collect(),
            pool: SupervisorPool::default(),
            sandbox: None,
            redactor: Redactor::default(),
            env_allowlist: Vec::new(),
        }
    }

    /// The same, with walls around every program that it starts.
    #[must_use]
    pub fn with_sandbox(mut self, walls: Option<WorkspaceSandbox>) -> Self {
        self.sandbox = walls;
        self
    }

    /// The same, with more taken out of what its programs print than what has a well-known format.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// What is taken out of all that its programs print.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The same, with more variables that checks see.
    #[must_use]
    pub fn with_env_allowlist(mut self, names: &[String]) -> Self {
        self.env_allowlist = names.to_vec();
        self
    }

    /// Variables that checks see beyond those that all see; a `*` at the end stands for the rest.
    pub fn env_allowlist(&self) -> &[String] {
        &self.env_allowlist
    }

    /// What stands around every program that it starts.
    pub fn sandbox(&self) -> Option<&WorkspaceSandbox> {
        self.sandbox.as_ref()
    }

    /// Ends the supervisors that wait for another session, and waits until they are gone.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }

    /// The running program itself with a hidden subcommand. `/proc/self/exe` names the very file
    /// that runs, also when an upgrade has replaced its path since, so that both ends of the
    /// control socket always speak the same language.
    pub fn this_program() -> Self {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().unwrap_or_else(|_| PathBuf::from("selvedge"))
        };
        Self::new(program, [OsString::from("__supervise")])
    }
}

/// One program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCommand {
    /// The program and its arguments. A name without a slash is looked up in the `PATH` of `env`,
    /// a relative path with one is relative to `cwd`.
    pub argv: Vec<OsString>,
    /// The whole environment but for [`TAG_VARIABLE`], which is added from `tag`.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// What the program reads from.
    pub stdin: StdinSource,
    /// Whether standard output and standard error are told apart.
    pub streams: StderrMode,
    /// A file that is locked (shared) as long as anything of the tree lives; made when missing.
    pub lock: Option<PathBuf>,
    /// The session's mark, `<run>.<n>`: unique over all runs.
    pub tag: String,
    /// How a stop begins.
    pub stop: StopSignal,
    /// How long a stopped tree may take until it is killed.
    pub grace: Duration,
    /// How long that which outlives the program may take, once asked to end, until it is killed.
    pub leftover_grace: Duration,
    /// Which agent it is; none for anything else. Walls let an agent reach its own credential.
    pub agent: Option<AgentKind>,
    /// Folders of ours that it writes to, whatever walls there are.
    pub writable_paths: Vec<PathBuf>,
}

impl SessionCommand {
    /// A command with an empty environment, no input, separate streams, no lock, and default
    /// graces (5 s for a stop, 500 ms for leftovers).
    pub fn new(argv: Vec<OsString>, cwd: impl Into<PathBuf>, tag: impl Into<String>) -> Self {
        Self {
            argv,
            env: Vec::new(),
            cwd: cwd.into(),
            stdin: StdinSource::Null,
            streams: StderrMode::Separate,
            lock: None,
            tag: tag.into(),
            stop: StopSignal::Terminate,
            grace: Duration::from_secs(5),
            leftover_grace: Duration::from_millis(500),
            agent: None,
            writable_paths: Vec::new(),
        }
    }
}

/// What the program reads from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// Nothing: the null device.
    Null,
    /// A file, opened for reading.
    File(PathBuf),
}

/// Where standard error goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrMode {
    /// Each stream has its own pipe; their order among one another is lost.
    Separate,
    /// Both share one pipe, in the order they were written; captured as standard output.
    Merged,
}

/// How a stop begins; after the grace everything is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// SIGTERM to every process of the tree: some programs leave tools of their own behind when
    /// only they are told.
    Terminate,
    /// SIGINT to the program alone, for one that then cleans up and writes a last record.
    Interrupt,
}
