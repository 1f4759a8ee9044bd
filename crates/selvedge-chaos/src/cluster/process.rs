//! A real process that can be killed, paused and resumed.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::{ChaosError, now_us};

/// A child process whose output is written to a file; it is killed on drop.
#[derive(Debug)]
pub struct ManagedProcess {
    child: Child,
    pid: i32,
    output: PathBuf,
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub struct NodeExit {
    /// Process id.
    pub pid: i32,
    /// When the end was noticed, by [`now_us`].
    pub at_us: u64,
    /// Whether it died at a failpoint: those abort the process.
    pub at_failpoint: bool,
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
}

impl ManagedProcess {
    /// Starts a process; its output is appended to the file `output`.
    pub fn start(mut command: Command, output: &Path) -> Result<Self, ChaosError> {
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(output)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true);
        let child = command.spawn()?;
        let pid = child.id().ok_or("the process ended immediately")?;
        Ok(Self {
            child,
            pid: i32::try_from(pid)?,
            output: output.to_owned(),
        })
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    fn signal(&self, signal: Signal) {
        // A process that has ended needs no signal.
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Pauses the process (`SIGSTOP`).
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes the process (`SIGCONT`).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills the process and waits for its end.
    pub async fn kill(mut self) -> Result<NodeExit, ChaosError> {
        self.signal(Signal::KILL);
        let status = self.child.wait().await?;
        Ok(node_exit(self.pid, status))
    }

    /// Returns how the process ended; `None` while it runs.
    pub fn try_wait(&mut self) -> Result<Option<NodeExit>, ChaosError> {
        Ok(self
            .child
            .try_wait()?
            .map(|status| node_exit(self.pid, status)))
    }

    /// Waits until the process ends by itself; `None` if it did not within `patience`.
    pub async fn wait(&mut self, patience: Duration) -> Result<Option<NodeExit>, ChaosError> {
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(status) => Ok(Some(node_exit(self.pid, status?))),
            Err(_) => Ok(None),
        }
    }

    /// The last 12 lines of its output, to diagnose why it ended.
    pub fn output_tail(&self) -> String {
        let text = std::fs::read_to_string(&self.output).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(12).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

fn node_exit(pid: i32, status: ExitStatus) -> NodeExit {
    use std::os::unix::process::ExitStatusExt;
    let at_point = status.signal() == Some(Signal::ABORT.as_raw());
    NodeExit {
        pid,
        at_us: now_us(),
        at_failpoint: at_point,
        code: status.code(),
    }
}
