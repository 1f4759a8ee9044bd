//! The session's process tree on Linux. Because this process is a subreaper, whatever loses its
//! parent becomes our own child, however it daemonised. So two facts hold: every process of the
//! tree is our descendant, and when the kernel says that we have no child, the tree is gone.

use std::collections::{BTreeMap, HashSet};
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::process::ended::{Exit, Method, ProcessName, TreeReport};
use crate::process::proc;

/// Looks for processes that were forked while their parents were being stopped. Each look finds
/// fewer, except where something forks faster than we look; the next pass has another go.
const FREEZING_LOOKS: usize = 100;

/// What a look at the children that ended has shown.
pub(super) struct Look {
    /// How the program ended, if this look found that it had.
    pub(super) program: Option<Exit>,
    /// Whether the tree is gone.
    pub(super) gone: bool,
}

/// All processes that descend from this one.
pub(super) struct Tree {
    own: i32,
    /// As long as it has not been reaped.
    program: Option<i32>,
    ended: BTreeMap<i32, String>,
}

impl Tree {
    /// Makes this process the one that adopts the tree's orphans. To be called before the program
    /// is started.
    pub(super) fn adopt() -> io::Result<Self> {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own))?;
        Ok(Self {
            own: own.as_raw_nonzero().get(),
            program: None,
            ended: BTreeMap::new(),
        })
    }

    /// Names the tree's root, our only child so far.
    pub(super) fn plant(&mut self, program: i32) {
        self.program = Some(program);
    }

    /// Reaps every child that has ended.
    pub(super) fn reap(&mut self) -> Look {
        let mut program = None;
        let gone = loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid.as_raw_nonzero().get()) == self.program => {
                    let code = status.exit_status().map(Exit::Code);
                    program = code.or_else(|| status.terminating_signal().map(Exit::Signal));
                    self.program = None;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                // ECHILD, the one error left to it: no child, and so nothing in the tree.
                Err(_) => break true,
            }
        };
        Look { program, gone }
    }

    /// SIGINT to the program alone.
    pub(super) fn interrupt(&self) {
        // Our own child, not yet reaped: its number cannot be anybody else's.
        if let Some(pid) = self.program.and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::INT);
        }
    }

    /// Asks everything to end, once. Whatever is stopped is woken to hear it.
    pub(super) fn ask_to_end(&mut self) {
        for pid in proc::descendants(self.own) {
            self.note(pid);
            self.signal(pid, Signal::TERM);
            self.signal(pid, Signal::CONT);
        }
    }

    /// Kills everything, once. First all are stopped, look by look until no new one appears: a
    /// stopped process cannot fork, so that nothing can run ahead of the killing.
    pub(super) fn kill(&mut self) {
        let mut frozen = HashSet::new();
        for _ in 0..FREEZING_LOOKS {
            let mut fresh = proc::descendants(self.own);
            fresh.retain(|pid| frozen.insert(*pid));
            if fresh.is_empty() {
                break;
            }
            for pid in fresh {
                self.note(pid);
                self.signal(pid, Signal::STOP);
            }
        }
        for pid in proc::descendants(self.own) {
            self.signal(pid, Signal::KILL);
        }
    }

    /// What was done, and what still lives.
    pub(super) fn report(&self) -> TreeReport {
        let living: BTreeMap<i32, String> = proc::descendants(self.own)
            .into_iter()
            .filter_map(|pid| Some((pid, proc::stat(pid).filter(|stat| !stat.zombie)?.name)))
            .collect();
        let ended = self
            .ended
            .iter()
            .filter(|(pid, _)| !living.contains_key(pid));
        TreeReport {
            method: Method::Subreaper,
            ended: ended.clone().count() as u64,
            ended_names: ended
                .map(ProcessName::from)
                .take(TreeReport::NAMED)
                .collect(),
            survivors: living
                .iter()
                .map(ProcessName::from)
                .take(TreeReport::NAMED)
                .collect(),
        }
    }

    /// Remembers a living process for the report, unless it is the program itself.
    fn note(&mut self, pid: i32) {
        if Some(pid) == self.program || self.ended.contains_key(&pid) {
            return;
        }
        if let Some(stat) = proc::stat(pid).filter(|stat| !stat.zombie) {
            self.ended.insert(pid, stat.name);
        }
    }

    /// An error means that the process is somebody else's: it will show as a survivor.
    fn signal(&self, pid: i32, signal: Signal) {
        let _ = proc::signal_if(pid, signal, || self.owns(pid));
    }

    /// Whether the parents of `pid` lead up to us: not so for a stranger who got its number.
    fn owns(&self, mut pid: i32) -> bool {
        while let Some(stat) = proc::stat(pid) {
            match stat.parent {
                parent if parent == self.own => return true,
                0 | 1 => return false,
                parent => pid = parent,
            }
        }
        false
    }
}
