//! How a session ended: all possible cases. Exit codes are facts here, not verdicts; the agent or
//! the check interprets them.

use std::time::{Duration, Instant};

use rustix::process::WaitStatus;
use selvedge_core::model::{CleanupMethod, ProcessCleanup};
use serde::{Deserialize, Serialize};

use super::capture::{CaptureError, CapturedStream};

/// All that is known about a session that has ended.
#[derive(Debug)]
#[must_use]
pub struct SessionExit {
    /// Why it ended.
    pub reason: EndReason,
    /// How the program itself ended, if known: a program that was stopped may still have exited by
    /// itself within the grace period.
    pub exit: Option<ProcessExit>,
    /// When we asked it to stop, if we did: later output may be a consequence of that.
    pub stopped_at: Option<Instant>,
    /// How its process tree ended.
    pub tree: TreeReport,
    /// From just before the program's start until its tree was gone.
    pub wall: Duration,
    /// Standard output, or both streams when they were merged.
    pub stdout: CapturedStream,
    /// Standard error; empty when the streams were merged.
    pub stderr: CapturedStream,
}

/// Why a session ended.
#[derive(Debug)]
pub enum EndReason {
    /// The program exited by itself with this code.
    Exited(i32),
    /// The program was ended by a signal that Selvedge did not send.
    Signalled(i32),
    /// The limit on wall time passed.
    TimedOut,
    /// The limit on time without output passed.
    IdleTimeout,
    /// The caller cancelled.
    Cancelled,
    /// The program could not be started.
    SpawnFailed(SpawnError),
    /// The output could not be stored. An infrastructure failure, which implies nothing about the
    /// program.
    CaptureFailed(CaptureError),
    /// The supervisor died or stopped answering. An infrastructure failure.
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
    /// Returns `None` for a process that was stopped or continued.
    pub(crate) fn from_wait_status(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

/// How a process tree ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct TreeReport {
    /// How the processes were found, which determines how reliable the report is.
    pub method: CleanupMethod,
    /// Number of processes, besides the program itself, that had to be ended.
    pub ended: u64,
    /// The first few of them.
    pub ended_names: Vec<ProcessName>,
    /// Processes that could not be ended (another user's, or one stuck in the kernel). Empty means
    /// that the tree is gone. Their supervisor stays, with its lock, as long as they do.
    pub survivors: Vec<ProcessName>,
}

impl TreeReport {
    /// Maximum processes named in a report; all are counted.
    pub(super) const MAX_NAMED: usize = 32;

    /// A report about a tree that was never started.
    pub(super) fn empty() -> Self {
        Self {
            method: supported_tree_method(),
            ended: 0,
            ended_names: Vec::new(),
            survivors: Vec::new(),
        }
    }

    /// Converts to the form used in reports.
    pub(crate) fn to_processes(&self) -> ProcessCleanup {
        ProcessCleanup {
            method: self.method,
            ended: u32::try_from(self.ended).unwrap_or(u32::MAX),
            survivors: u32::try_from(self.survivors.len()).unwrap_or(u32::MAX),
        }
    }

    /// Describes the processes that could not be ended; `None` if the tree is gone.
    pub(crate) fn describe_survivors(&self) -> Option<String> {
        let names = self.survivors.iter();
        let names: Vec<_> = names
            .map(|it| format!("{} ({})", it.pid, it.name))
            .collect();
        (!names.is_empty()).then(|| format!("processes could not be ended: {}", names.join(", ")))
    }
}

/// The cleanup method that a supervisor on this system supports.
pub fn supported_tree_method() -> CleanupMethod {
    if cfg!(target_os = "linux") {
        CleanupMethod::Subreaper
    } else {
        CleanupMethod::ProcessGroup
    }
}

/// A process by id and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessName {
    /// Its id at the time.
    pub pid: i32,
    /// The kernel's name for it (15 bytes at most); empty if the process was gone before it could
    /// be read.
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
    /// The cause, as far as it can be determined.
    pub kind: SpawnErrorKind,
    /// The system's error number, when there was one.
    pub errno: Option<i32>,
    /// Message for people; names the program or path.
    pub message: String,
}

/// Causes of a failed start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnErrorKind {
    /// The program does not exist.
    NotFound,
    /// The program may not be executed.
    PermissionDenied,
    /// The system cannot execute the file, such as a script without a `#!` line.
    ExecFormat,
    /// The interpreter that the script's `#!` line (or the binary's header) names is missing.
    InterpreterNotFound,
    /// The working directory is missing or cannot be entered.
    WorkingDirectory,
    /// The file to read standard input from cannot be opened.
    Stdin,
    /// The sandbox cannot be set up; the program was not started without it.
    Sandbox,
    /// Arguments and environment together are too long.
    TooLong,
    /// Anything else: see the message.
    Other,
}
