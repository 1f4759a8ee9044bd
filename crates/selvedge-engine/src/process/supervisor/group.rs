//! The session's process tree on systems without subreapers: the processes that stay in the
//! program's process group. Processes that leave the group are missed, which the method in the
//! report shows.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::process::ended::{Exit, TreeReport};
use selvedge_core::model::TreeMethod;

/// The program's process group; its id is the program's id.
pub(super) struct Tree {
    group: Option<Pid>,
    program_lives: bool,
    exit: Option<Exit>,
    ended: u64,
}

impl Tree {
    /// Adopts nothing; returns a `Result` because it can fail on Linux.
    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn adopt() -> io::Result<Self> {
        Ok(Self {
            group: None,
            program_lives: false,
            exit: None,
            ended: 0,
        })
    }

    pub(super) fn plant(&mut self, program: i32) {
        self.group = Pid::from_raw(program);
        self.program_lives = true;
    }

    pub(super) fn stands_behind(&mut self, _walls: &[i32], _program: Option<i32>) {}

    pub(super) fn is_contained(&mut self, _first: Option<i32>) {}

    pub(super) fn exited(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.program_lives = false;
    }

    pub(super) fn take_exit(&mut self) -> Option<Exit> {
        self.exit.take()
    }

    pub(super) fn reap(&mut self) -> bool {
        while let Ok(Some((_, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if let Some(exit) = Exit::of(status) {
                self.exited(exit);
            }
        }
        !self.program_lives && !self.group_lives()
    }

    pub(super) fn interrupt(&self) {
        if let Some(pid) = self.group.filter(|_| self.program_lives) {
            let _ = rustix::process::kill_process(pid, Signal::INT);
        }
    }

    pub(super) fn ask_to_end(&mut self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    pub(super) fn report(&self) -> TreeReport {
        TreeReport {
            method: TreeMethod::ProcessGroup,
            ended: self.ended,
            ended_names: Vec::new(),
            survivors: Vec::new(),
        }
    }

    fn group_lives(&self) -> bool {
        let asked = self.group.map(rustix::process::test_kill_process_group);
        !matches!(asked, None | Some(Err(Errno::SRCH)))
    }

    /// Members cannot be counted here, only that there were some.
    fn signal(&mut self, signal: Signal) {
        let Some(group) = self.group else { return };
        if rustix::process::kill_process_group(group, signal).is_ok() && !self.program_lives {
            self.ended = 1;
        }
    }
}
