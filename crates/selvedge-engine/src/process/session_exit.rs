//! How a session ended: the whole space of it. Exit codes are facts here, not verdicts; what a
//! code means is for the agent or the check to say.

use std::time::{Duration, Instant};

use rustix::process::WaitStatus;
use selvedge_core::model::{CleanupMethod, ProcessCleanup};
use serde::{Deserialize, Serialize};

use super::capture::{CaptureError, CapturedStream};

/// All that is known about a session that is over.
#[derive(Debug)]
#[must_use]
pub struct SessionExit {
    /// Why it is over.
    pub reason: EndReason,
    /// How the program itself ended, where that is known: a program that was stopped may still
    /// have exited in its own way within the grace.
    pub exit: Option<ProcessExit>,
    /// When we asked it to stop, if we did: what it says after that, it may say because of that.
    pub stopped_at: Option<Instant>,
    /// What became of its process tree.
    pub tree: TreeReport,
    /// From just before the program's start until its tree was gone.
    pub wall: Duration,
    /// Standard output, or both streams when they were merged.
    pub stdout: CapturedStream,
    /// Standard error; empty when the streams were merged.
    pub stderr: CapturedStream,
}

/// Why a session is over.
#[derive(Debug)]
pub enum EndReason {
    /// The program exited by itself with this code.
    Exited(i32),
    /// A signal that did not come from here ended the program.
    Signalled(i32),
    /// The limit on wall time passed.
    TimedOut,
    /// The limit on time without output passed.
    IdleTimeout,
    /// The caller cancelled.
    Cancelled,
    /// The program could not be started.
    SpawnFailed(SpawnError),
    /// The output could not be stored. Infrastructure: says nothing about the program.
    CaptureFailed(CaptureError),
    /// The supervisor died or stopped answering. Infrastructure.
    SupervisorLost,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It exited with this code, 0 to 255.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ProcessExit {
    /// `None` for a process that was stopped or continued.
    pub(crate) fn from_wait_status(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

/// What became of a process tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct TreeReport {
    /// How the processes were found, and so how much the report is worth.
    pub method: CleanupMethod,
    /// How many processes beside the program itself had to be told to end.
    pub ended: u64,
    /// Who they were: the first few.
    pub ended_names: Vec<ProcessName>,
    /// What could not be ended (another user's process, or one stuck in the kernel). Empty means
    /// that the tree is gone. Their supervisor stays, with its lock, as long as they do.
    pub survivors: Vec<ProcessName>,
}

impl TreeReport {
    /// How many processes a report names at most; all are counted.
    pub(super) const MAX_NAMED: usize = 32;

    /// A report about a tree that never was.
    pub(super) fn empty() -> Self {
        Self {
            method: supported_tree_method(),
            ended: 0,
            ended_names: Vec::new(),
            survivors: Vec::new(),
        }
    }

    /// As a report has it.
    pub(crate) fn to_processes(&self) -> ProcessCleanup {
        ProcessCleanup {
            method: self.method,
            ended: u32::try_from(self.ended).unwrap_or(u32::MAX),
            survivors: u32::try_from(self.survivors.len()).unwrap_or(u32::MAX),
        }
    }

    /// Who could not be ended, for people; `None` when the tree is gone.
    pub(crate) fn describe_survivors(&self) -> Option<String> {
        let names = self.survivors.iter();
        let names: Vec<_> = names
            .map(|it| format!("{} ({})", it.pid, it.name))
            .collect();
        (!names.is_empty()).then(|| format!("processes could not be ended: {}", names.join(", ")))
    }
}

/// What a supervisor on this system can do.
pub fn supported_tree_method() -> CleanupMethod {
    if cfg!(target_os = "linux") {
        CleanupMethod::Subreaper
    } else {
        CleanupMethod::ProcessGroup
    }
}

/// A process as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessName {
    /// Its id at the time.
    pub pid: i32,
    /// The kernel's name for it (15 bytes at most); empty when it was gone too soon to ask.
    pub name: String,
}

impl From<(&i32, &String)> for ProcessName {
    fn from((pid, name): (&i32, &String)) -> Self {
        Self {
            pid: *pid,
            name: name.clone(),
        }
    }
}

/// Why a program could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct SpawnError {
    /// The cause, as far as it can be told apart.
    pub kind: SpawnErrorKind,
    /// The system's error number, when there was one.
    pub errno: Option<i32>,
    /// For people: names the program or path in question.
    pub message: String,
}

/// The causes that can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnErrorKind {
    /// No such program.
    NotFound,
    /// The program may not be executed.
    PermissionDenied,
    /// It is no program that the system can execute, such as a script without a `#!` line.
    ExecFormat,
    /// The interpreter that the script's `#!` line (or the binary's header) names is missing.
    InterpreterNotFound,
    /// The working directory is missing or cannot be entered.
    WorkingDirectory,
    /// The file to read standard input from cannot be opened.
    Stdin,
    /// The walls around it cannot be built: it was not started without them.
    Sandbox,
    /// Arguments and environment together are too long.
    TooLong,
    /// Anything else: see the message.
    Other,
}
