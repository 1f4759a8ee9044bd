//! A real process that can be killed, stopped and let go on.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::{ChaosError, now_us};

/// A process at work.
#[derive(Debug)]
pub struct ManagedProcess {
    child: Child,
    pid: i32,
    output: PathBuf,
}

/// How one ended.
#[derive(Debug, Clone, Copy)]
pub struct NodeExit {
    /// Its id.
    pub pid: i32,
    /// When.
    pub at_us: u64,
    /// Whether it died at a marked point.
    pub at_failpoint: bool,
    /// Its exit code; none for a signal.
    pub code: Option<i32>,
}

impl ManagedProcess {
    /// Starts it; what it says goes to a file.
    pub fn start(mut command: Command, output: &Path) -> Result<Self, ChaosError> {
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(output)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true);
        let child = command.spawn()?;
        let pid = child.id().ok_or("it ended at once")?;
        Ok(Self {
            child,
            pid: i32::try_from(pid)?,
            output: output.to_owned(),
        })
    }

    /// Its id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    fn signal(&self, signal: Signal) {
        // One that has ended already needs none.
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Lets it stand still.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it and waits for its end.
    pub async fn kill(mut self) -> Result<NodeExit, ChaosError> {
        self.signal(Signal::KILL);
        let status = self.child.wait().await?;
        Ok(node_exit(self.pid, status))
    }

    /// Whether it has ended.
    pub fn try_wait(&mut self) -> Result<Option<NodeExit>, ChaosError> {
        Ok(self
            .child
            .try_wait()?
            .map(|status| node_exit(self.pid, status)))
    }

    /// Waits until it ends by itself, but no longer than that.
    pub async fn wait(&mut self, patience: Duration) -> Result<Option<NodeExit>, ChaosError> {
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(status) => Ok(Some(node_exit(self.pid, status?))),
            Err(_) => Ok(None),
        }
    }

    /// The end of what it said, for whoever looks for the reason of its end.
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
