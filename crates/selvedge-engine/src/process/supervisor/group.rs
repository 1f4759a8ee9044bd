//! The session's process tree on systems without subreapers: the processes that stay in the
//! program's process group. Processes that leave the group are missed, which the method in the
//! report shows.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::process::session_exit::{ProcessExit, TreeReport};
use selvedge_core::model::CleanupMethod;

/// The program's process group; its id is the program's id.
pub(super) struct ProcessTree {
    group: Option<Pid>,
    program_lives: bool,
    exit: Option<ProcessExit>,
    ended: u64,
}

impl ProcessTree {
    /// Does nothing here; returns a `Result` because it can fail on Linux.
    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn become_subreaper() -> io::Result<Self> {
        Ok(Self {
            group: None,
            program_lives: false,
            exit: None,
            ended: 0,
        })
    }

    pub(super) fn set_root(&mut self, program: i32) {
        self.group = Pid::from_raw(program);
        self.program_lives = true;
    }

    pub(super) fn set_sandbox_root(&mut self, _sandbox: &[i32], _program: Option<i32>) {}

    pub(super) fn set_container_root(&mut self, _first: Option<i32>) {}

    pub(super) fn record_exit(&mut self, exit: ProcessExit) {
        self.exit = Some(exit);
        self.program_lives = false;
    }

    pub(super) fn take_exit(&mut self) -> Option<ProcessExit> {
        self.exit.take()
    }

    pub(super) fn reap(&mut self) -> bool {
        while let Ok(Some((_, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if let Some(exit) = ProcessExit::from_wait_status(status) {
                self.record_exit(exit);
            }
        }
        !self.program_lives && !self.group_lives()
    }

    pub(super) fn interrupt(&self) {
        if let Some(pid) = self.group.filter(|_| self.program_lives) {
            let _ = rustix::process::kill_process(pid, Signal::INT);
        }
    }

    pub(super) fn terminate_all(&mut self) {
        self.send_signal(Signal::TERM);
        self.send_signal(Signal::CONT);
    }

    pub(super) fn kill_all(&mut self) {
        self.send_signal(Signal::KILL);
    }

    pub(super) fn report(&self) -> TreeReport {
        TreeReport {
            method: CleanupMethod::ProcessGroup,
            ended: self.ended,
            ended_names: Vec::new(),
            survivors: Vec::new(),
        }
    }

    fn group_lives(&self) -> bool {
        let result = self.group.map(rustix::process::test_kill_process_group);
        !matches!(result, None | Some(Err(Errno::SRCH)))
    }

    /// Members cannot be counted here, only that there were some.
    fn send_signal(&mut self, signal: Signal) {
        let Some(group) = self.group else { return };
        if rustix::process::kill_process_group(group, signal).is_ok() && !self.program_lives {
            self.ended = 1;
        }
    }
}
