//! The session's process tree on Linux. This process is a subreaper: every process that loses its
//! parent becomes our child, however it daemonised. So every process of the tree is our descendant,
//! and when the kernel reports that we have no child, the tree is gone.
//!
//! The ids of our own children are not reused until we reap them, so they can be signalled
//! directly; deeper descendants may be reaped, and their ids reused, at any time.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::process::proc;
use crate::process::session_exit::{ProcessExit, ProcessName, TreeReport};
use selvedge_core::model::CleanupMethod;

/// Searches for running processes in one killing pass. The second search finds something new only
/// if processes fork and exit without pause; the next pass handles those.
const MAX_STOP_ROUNDS: usize = 100;

/// Killing passes over a container's processes before its engine is killed too: some seconds,
/// because of the pauses between the passes.
const ENGINE_GRACE_PASSES: u32 = 8;

/// The processes of a container are descendants of its first process, which a service of the engine
/// may have started. Our other descendants then belong to the engine, which cleans up and is killed
/// only if it does not.
#[derive(Clone, Copy)]
struct ContainerProcesses {
    /// With its parent at that time, if visible.
    first: Option<(i32, i32)>,
    /// Remaining killing passes before the engine is killed too.
    engine_grace_passes: u32,
}

/// All descendants of this process.
pub(super) struct ProcessTree {
    own_pid: i32,
    /// `None` after it has been reaped.
    program: Option<i32>,
    exit: Option<ProcessExit>,
    /// The processes of the sandbox: not part of the program's tree, but gone with it.
    sandbox_pids: Vec<i32>,
    /// The container, if there is one.
    container: Option<ContainerProcesses>,
    /// Processes stopped by this pass, with their parents at that time.
    stopped: HashMap<i32, i32>,
    ended: BTreeMap<i32, String>,
}

impl ProcessTree {
    /// Makes this process the subreaper of the tree. Call it before the program is started.
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

    /// Sets the tree's root, our only child so far.
    pub(super) fn set_root(&mut self, program: i32) {
        self.program = Some(program);
    }

    /// Sets the processes of the sandbox and the root in it, which is not our child; `None` if it
    /// ended before its id could be read.
    pub(super) fn set_sandbox_root(&mut self, pids: &[i32], program: Option<i32>) {
        self.sandbox_pids = pids.to_vec();
        self.program = program;
    }

    /// Marks the sandbox as a container and sets its first process.
    pub(super) fn set_container_root(&mut self, first: Option<i32>) {
        let first = first.and_then(|pid| Some((pid, proc::read_stat(pid)?.parent)));
        self.container = Some(ContainerProcesses {
            first,
            engine_grace_passes: ENGINE_GRACE_PASSES,
        });
    }

    /// Every process started by the program, with its parent.
    fn program_descendants(&self) -> Vec<(i32, i32)> {
        let root = match self.container {
            None => Some(self.own_pid),
            Some(contained) => contained.first.map(|(first, _)| first),
        };
        root.map(proc::descendants).unwrap_or_default()
    }

    /// Records how the program ended, if another process reaped it.
    pub(super) fn record_exit(&mut self, exit: ProcessExit) {
        self.exit = Some(exit);
        self.program = None;
    }

    /// Returns how the program ended, once, after it has been reaped.
    pub(super) fn take_exit(&mut self) -> Option<ProcessExit> {
        self.exit.take()
    }

    /// Reaps every child that has ended; returns `true` when the tree is gone.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get();
                    self.stopped.remove(&pid);
                    let is_program = self.program == Some(pid) && self.sandbox_pids.is_empty();
                    // A program that is traced by this process stops, which is not an exit.
                    if let Some(exit) = ProcessExit::from_wait_status(status).filter(|_| is_program)
                    {
                        self.record_exit(exit);
                    }
                }
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                // ECHILD, the only possible error: no child, and so nothing in the tree.
                Err(_) => return true,
            }
        }
    }

    /// Sends SIGINT to the program alone.
    pub(super) fn interrupt(&self) {
        if let Some(program) = self.program {
            let parent = self.sandbox_pids.last().copied().unwrap_or(self.own_pid);
            self.send_signal(program, parent, Signal::INT);
        }
    }

    /// Asks all processes to end, once. Stopped processes are continued so that they receive the
    /// signal.
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

    /// Kills all processes, once.
    ///
    /// First all are stopped: a stopped process cannot fork to escape. Then they are killed,
    /// children before their parents, because the kernel continues a stopped process group when it
    /// is orphaned.
    pub(super) fn kill_all(&mut self) {
        self.stopped.clear();
        let mut order = Vec::new();
        let spares = self.should_skip_engine();
        for _ in 0..MAX_STOP_ROUNDS {
            // Zombies must not accumulate: the kernel's work grows with the square of their number.
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

    /// Whether this pass does not kill the engine of a container.
    fn should_skip_engine(&mut self) -> bool {
        let Some(contained) = &mut self.container else {
            return false;
        };
        let spares = contained.engine_grace_passes > 0 && contained.first.is_some();
        contained.engine_grace_passes = contained.engine_grace_passes.saturating_sub(1);
        spares
    }

    /// Stops the processes that this pass has not stopped yet, parents before their children: a
    /// process with a pending signal completes no fork, so the children read after that are
    /// complete.
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

    /// Reports what was ended and what is still alive.
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

    /// Records a living process for the report, unless it is the program itself.
    fn record_process(&mut self, pid: i32) {
        if Some(pid) != self.program
            && !self.sandbox_pids.contains(&pid)
            && !self.ended.contains_key(&pid)
            && let Some(name) = living_name(pid)
        {
            self.ended.insert(pid, name);
        }
    }

    /// An error means that the process belongs to another user: it will be reported as a survivor.
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
