//! The command of a session and the supervisor program that runs it. Plain data, complete before
//! anything starts: the environment is exact, and nothing is inherited from the main program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use selvedge_core::model::AgentKind;
use selvedge_core::redact::Redactor;

use super::pool::{PooledSupervisor, SupervisorPool};
use crate::check_slots::CheckSlots;
use crate::sandbox::WorkspaceSandbox;

/// Environment variable that marks every process of a session, as `<run>.<n>`.
/// [`kill_session_processes`](super::kill_session_processes) finds a tree by it if the supervisor
/// died.
pub const TAG_VARIABLE: &str = "SELVEDGE_SESSION";

/// The program that calls [`supervisor::main`](super::supervisor::main). Clones share a pool of
/// idle supervisor processes; sessions that must be isolated from one another need separate
/// supervisors.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// Its path; it is not looked up in `PATH`.
    pub program: PathBuf,
    /// Arguments that make the program call the supervisor.
    pub args: Vec<OsString>,
    pub(super) pool: SupervisorPool,
    /// Sandbox of every program that it starts.
    pub(super) sandbox: Option<WorkspaceSandbox>,
    /// Redacts the output of its programs.
    pub(super) redactor: Redactor,
    /// Additional variables that checks see.
    env_allowlist: Vec<String>,
    /// The machine's slots for checks; `None` if there is no limit.
    check_slots: Option<CheckSlots>,
}

impl Supervisor {
    /// Creates a supervisor from a program and the arguments that make it call the supervisor.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().collect(),
            pool: SupervisorPool::default(),
            sandbox: None,
            redactor: Redactor::default(),
            env_allowlist: Vec::new(),
            check_slots: None,
        }
    }

    /// Runs every program in this sandbox.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Option<WorkspaceSandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Redacts these secrets too, in addition to those of a well-known format.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Redacts the output of its programs.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Adds variables that checks see.
    #[must_use]
    pub fn with_env_allowlist(mut self, names: &[String]) -> Self {
        self.env_allowlist = names.to_vec();
        self
    }

    /// Additional variables that checks see; a `*` at the end matches any suffix.
    pub fn env_allowlist(&self) -> &[String] {
        &self.env_allowlist
    }

    /// Makes each check wait for one of these slots.
    #[must_use]
    pub fn with_check_slots(mut self, slots: Option<CheckSlots>) -> Self {
        self.check_slots = slots;
        self
    }

    /// The machine's slots for checks; `None` if there is no limit.
    pub(crate) fn check_slots(&self) -> Option<&CheckSlots> {
        self.check_slots.as_ref()
    }

    /// Sandbox of every program that it starts.
    pub fn sandbox(&self) -> Option<&WorkspaceSandbox> {
        self.sandbox.as_ref()
    }

    /// Starts a process for the first session of a run, which then does not wait for its start. If it cannot be started,
    /// that session reports it.
    pub(crate) fn start_ahead(&self, run: &str) {
        if let Ok(started) = PooledSupervisor::start(self, run) {
            self.pool.put(started);
        }
    }

    /// Ends the idle supervisors and waits until they are gone.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }

    /// The running program with a hidden subcommand. `/proc/self/exe` refers to the running file
    /// even if an upgrade has replaced its path, so that both ends of the control socket use the
    /// same protocol.
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
    /// The complete environment except [`TAG_VARIABLE`], which is set from `tag`.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Source of standard input.
    pub stdin: StdinSource,
    /// Whether standard output and standard error are captured separately.
    pub streams: StderrMode,
    /// A file that is locked (shared) while any process of the tree is alive; created if missing.
    pub lock: Option<PathBuf>,
    /// Tag of the session, `<run>.<n>`: unique over all runs.
    pub tag: String,
    /// How stopping the session begins.
    pub stop: StopSignal,
    /// Time after which a stopped tree is killed.
    pub grace: Duration,
    /// Time after which processes that outlive the program and were asked to end are killed.
    pub leftover_grace: Duration,
    /// The agent that runs, if any. A sandbox lets an agent reach its own credential.
    pub agent: Option<AgentKind>,
    /// Our folders that the program writes to, whatever its sandbox is.
    pub writable_paths: Vec<PathBuf>,
    /// The names of the check that the program belongs to: settings may grant it hidden files.
    pub check_names: Vec<String>,
}

impl SessionCommand {
    /// Creates a command with an empty environment, no input, separate streams, no lock and default
    /// grace periods (5 s for a stop, 500 ms for leftovers).
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
            check_names: Vec::new(),
        }
    }
}

/// Source of standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StdinSource {
    /// The null device.
    Null,
    /// A file, opened for reading.
    File(PathBuf),
}

/// Destination of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrMode {
    /// Each stream has its own pipe; their relative order is lost.
    Separate,
    /// Both share one pipe, in the order of their writes; captured as standard output.
    Merged,
}

/// How a stop begins; everything is killed after the grace period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// SIGTERM to every process of the tree: some programs leave tools of their own running if only
    /// they receive it.
    Terminate,
    /// SIGINT to the program alone, for one that then cleans up and writes a last record.
    Interrupt,
}
