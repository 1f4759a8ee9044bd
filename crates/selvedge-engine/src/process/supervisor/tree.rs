//! The session's process tree on Linux. Because this process is a subreaper, whatever loses its
//! parent becomes our own child, however it daemonised. So two facts hold: every process of the
//! tree is our descendant, and when the kernel says that we have no child, the tree is gone.
//!
//! Our own children keep their numbers until we reap them, so they can be signalled at once;
//! deeper ones may be reaped, and their numbers given to strangers, while we look.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::process::proc;
use crate::process::session_exit::{ProcessExit, ProcessName, TreeReport};
use selvedge_core::model::CleanupMethod;

/// Looks for what is not stopped yet, in one killing pass. The second finds nothing new but for
/// processes that fork and exit without pause; the next pass has another go at those.
const MAX_STOP_ROUNDS: usize = 100;

/// Killing passes over a container's processes until its engine has had its time: some seconds, by the
/// pauses between them.
const ENGINE_GRACE_PASSES: u32 = 8;

/// A container's processes are below its first one, which an engine's service may have started. What
/// else is below us then is the engine's: it tidies up, and is ended only when it does not.
#[derive(Clone, Copy)]
struct ContainerProcesses {
    /// With its parent at that time, where it can be seen.
    first: Option<(i32, i32)>,
    /// Killing passes until the engine is killed too.
    engine_grace_passes: u32,
}

/// All processes that descend from this one.
pub(super) struct ProcessTree {
    own_pid: i32,
    /// As long as it has not been reaped.
    program: Option<i32>,
    exit: Option<ProcessExit>,
    /// The walls that the program stands behind: no part of its tree, and gone with it.
    sandbox_pids: Vec<i32>,
    /// Where it is a container.
    container: Option<ContainerProcesses>,
    /// What this pass has stopped, and its parent at that time.
    stopped: HashMap<i32, i32>,
    ended: BTreeMap<i32, String>,
}

impl ProcessTree {
    /// Makes this process the one that adopts the tree's orphans. To be called before the program
    /// is started.
    pub(super) fn become_subreaper() -> io::Result<Self> {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own))?;
        Ok(Self {
            own_pid: own.as_raw_nonzero().get(),
            program: None,
            exit: None,
            sandbox_pids: Vec::new(),
            container: None,
            stopped: HashMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Names the tree's root, our only child so far.
    pub(super) fn set_root(&mut self, program: i32) {
        self.program = Some(program);
    }

    /// Names the processes that hold the walls, and the root behind them, which is none of our
    /// children; it is not known where it was gone too soon.
    pub(super) fn set_sandbox_root(&mut self, walls: &[i32], program: Option<i32>) {
        self.sandbox_pids = walls.to_vec();
        self.program = program;
    }

    /// Says that the walls are a container, and which process is its first.
    pub(super) fn set_container_root(&mut self, first: Option<i32>) {
        let first = first.and_then(|pid| Some((pid, proc::read_stat(pid)?.parent)));
        self.container = Some(ContainerProcesses {
            first,
            engine_grace_passes: ENGINE_GRACE_PASSES,
        });
    }

    /// Everything that the program has started, with its parent.
    fn program_descendants(&self) -> Vec<(i32, i32)> {
        let root = match self.container {
            None => Some(self.own_pid),
            Some(contained) => contained.first.map(|(first, _)| first),
        };
        root.map(proc::descendants).unwrap_or_default()
    }

    /// Takes down how the program ended, where somebody else reaped it.
    pub(super) fn record_exit(&mut self, exit: ProcessExit) {
        self.exit = Some(exit);
        self.program = None;
    }

    /// How the program ended, once, when it has been reaped.
    pub(super) fn take_exit(&mut self) -> Option<ProcessExit> {
        self.exit.take()
    }

    /// Reaps every child that has ended; `true` when the tree is gone.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get();
                    self.stopped.remove(&pid);
                    let is_program = self.program == Some(pid) && self.sandbox_pids.is_empty();
                    // A program that has itself traced by this process stops, which is no exit.
                    if let Some(exit) = ProcessExit::from_wait_status(status).filter(|_| is_program)
                    {
                        self.record_exit(exit);
                    }
                }
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                // ECHILD, the one error left to it: no child, and so nothing in the tree.
                Err(_) => return true,
            }
        }
    }

    /// SIGINT to the program alone.
    pub(super) fn interrupt(&self) {
        if let Some(program) = self.program {
            let parent = self.sandbox_pids.last().copied().unwrap_or(self.own_pid);
            self.send_signal(program, parent, Signal::INT);
        }
    }

    /// Asks everything to end, once. Whatever is stopped is woken to hear it.
    pub(super) fn terminate_all(&mut self) {
        for (pid, parent) in self.program_descendants() {
            if self.sandbox_pids.contains(&pid) {
                continue;
            }
            self.record_process(pid);
            self.send_signal(pid, parent, Signal::TERM);
            self.send_signal(pid, parent, Signal::CONT);
        }
    }

    /// Kills everything, once.
    ///
    /// First all are stopped: what is stopped cannot fork away from the killing. Then they are
    /// killed, children before their parents, because the kernel wakes a stopped process group
    /// when it is orphaned.
    pub(super) fn kill_all(&mut self) {
        self.stopped.clear();
        let mut order = Vec::new();
        let spares = self.should_skip_engine();
        for _ in 0..MAX_STOP_ROUNDS {
            // What has ended must not pile up: the kernel's own work grows with its square.
            let gone = self.reap();
            let known = order.len();
            self.stop_unstopped(&mut order, spares);
            if gone || order.len() == known {
                break;
            }
        }
        for pid in order.into_iter().rev() {
            if let Some(parent) = self.stopped.get(&pid).copied() {
                self.record_process(pid);
                self.send_signal(pid, parent, Signal::KILL);
            }
        }
    }

    /// Whether this pass leaves the engine of a container to itself.
    fn should_skip_engine(&mut self) -> bool {
        let Some(contained) = &mut self.container else {
            return false;
        };
        let spares = contained.engine_grace_passes > 0 && contained.first.is_some();
        contained.engine_grace_passes = contained.engine_grace_passes.saturating_sub(1);
        spares
    }

    /// Stops what this pass has not stopped yet, parents before their children: a process that has
    /// a signal pending completes no fork, so the children that are looked up after that are all
    /// that it has.
    fn stop_unstopped(&mut self, order: &mut Vec<i32>, spares: bool) {
        let mut parents = VecDeque::new();
        if !spares {
            parents.push_back(self.own_pid);
        }
        if let Some((first, parent)) = self.container.and_then(|it| it.first) {
            if self.stopped.insert(first, parent).is_none() {
                self.send_signal(first, parent, Signal::STOP);
                order.push(first);
            }
            parents.push_back(first);
        }
        while let Some(parent) = parents.pop_front() {
            for child in proc::children(parent) {
                if self.stopped.insert(child, parent).is_none() {
                    self.send_signal(child, parent, Signal::STOP);
                    order.push(child);
                }
                parents.push_back(child);
            }
        }
    }

    /// What was done, and what still lives.
    pub(super) fn report(&self) -> TreeReport {
        let living: BTreeMap<i32, String> = proc::descendants(self.own_pid)
            .into_iter()
            .filter_map(|(pid, _)| Some((pid, living_name(pid)?)))
            .collect();
        let ended = self
            .ended
            .iter()
            .filter(|(pid, _)| !living.contains_key(pid));
        TreeReport {
            method: CleanupMethod::Subreaper,
            ended: ended.clone().count() as u64,
            ended_names: ended
                .map(ProcessName::from)
                .take(TreeReport::MAX_NAMED)
                .collect(),
            survivors: living
                .iter()
                .map(ProcessName::from)
                .take(TreeReport::MAX_NAMED)
                .collect(),
        }
    }

    /// Remembers a living process for the report, unless it is the program itself.
    fn record_process(&mut self, pid: i32) {
        if Some(pid) != self.program
            && !self.sandbox_pids.contains(&pid)
            && !self.ended.contains_key(&pid)
            && let Some(name) = living_name(pid)
        {
            self.ended.insert(pid, name);
        }
    }

    /// An error means that the process is somebody else's: it will show as a survivor.
    fn send_signal(&self, pid: i32, parent: i32, signal: Signal) {
        if parent == self.own_pid {
            let _ = Pid::from_raw(pid).map(|pid| rustix::process::kill_process(pid, signal));
            return;
        }
        let is_meant = || {
            proc::read_stat(pid)
                .is_some_and(|stat| stat.parent == parent || stat.parent == self.own_pid)
        };
        let _ = proc::signal_if(pid, signal, is_meant);
    }
}

fn living_name(pid: i32) -> Option<String> {
    proc::read_stat(pid)
        .filter(|stat| !stat.zombie)
        .map(|stat| stat.name)
}
