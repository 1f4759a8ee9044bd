//! The loop from the program's start until nothing of its tree is left. It sleeps until a child
//! ends, the main program sends an order (or dies), or a grace period ends.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::control::ControlSocket;
use super::sandboxed::NamespaceInit;
use super::signals::SupervisorSignals;
use super::tree::ProcessTree;
use crate::process::StopSignal;
use crate::process::wire::{SessionSpec, SupervisorMessage, SupervisorOrder};

/// Pause between two killing passes. The first pass is sufficient except for processes that fork
/// faster than they are found, or are stuck in the kernel.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Time of killing after which the remaining processes are reported as survivors.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Upper limit of grace periods: longer ones would overflow the clock.
const MAX_GRACE: Duration = Duration::from_hours(24);

/// How far the shutdown of the tree has advanced.
#[derive(Clone, Copy)]
enum ShutdownPhase {
    /// The program runs and was not asked to stop.
    Running,
    /// All processes were asked to end.
    Terminating { kill_at: Instant },
    /// All processes are being killed.
    Killing {
        since: Instant,
        next_pass: Instant,
        pause: Duration,
    },
}

pub(super) struct EventLoop<'a> {
    tree: ProcessTree,
    signals: &'a mut SupervisorSignals,
    /// `None` after the main program is gone.
    control: Option<&'a mut ControlSocket>,
    /// Reports how the program ended, if it is not our own child; `None` after it is gone.
    init: Option<NamespaceInit>,
    phase: ShutdownPhase,
    are_survivors_reported: bool,
    stop: StopSignal,
    grace: Duration,
    leftover_grace: Duration,
}

impl<'a> EventLoop<'a> {
    pub(super) fn new(
        spec: &SessionSpec,
        program: i32,
        init: Option<NamespaceInit>,
        mut tree: ProcessTree,
        signals: &'a mut SupervisorSignals,
        control: &'a mut ControlSocket,
    ) -> Self {
        match &init {
            None => tree.set_root(program),
            // The init process reports the program's exit; the sandbox's exit implies nothing about
            // it.
            Some(init) => {
                tree.set_sandbox_root(&init.sandbox_pids, init.program);
                if init.is_container {
                    tree.set_container_root(init.container);
                }
            }
        }
        Self {
            tree,
            signals,
            control: Some(control),
            init,
            phase: ShutdownPhase::Running,
            are_survivors_reported: false,
            stop: spec.stop,
            grace: spec.grace.min(MAX_GRACE),
            leftover_grace: spec.leftover_grace.min(MAX_GRACE),
        }
    }

    /// Runs until the tree is gone; the caller sends the report.
    pub(super) fn run_until_empty(mut self) -> SupervisorMessage {
        loop {
            self.signals.drain_wakeups();
            let gone = self.tree.reap();
            self.poll_init();
            let exit = self.tree.take_exit();
            if let Some(exit) = exit {
                self.send(&SupervisorMessage::Exited(exit));
            }
            if gone {
                return SupervisorMessage::Gone(self.tree.report());
            }
            if exit.is_some() {
                self.terminate_leftovers();
            }
            self.escalate_if_due();
            self.wait_for_events();
        }
    }

    /// The init process's last message arrives before it is gone.
    fn poll_init(&mut self) {
        let Some(init) = &mut self.init else {
            return;
        };
        match init.poll_exits() {
            Some(exits) => exits
                .into_iter()
                .for_each(|exit| self.tree.record_exit(exit)),
            None => self.init = None,
        }
    }

    fn send(&mut self, report: &SupervisorMessage) {
        if let Some(control) = &mut self.control {
            control.send_or_ignore(report);
        }
    }

    /// Ends processes of the tree that outlive the program.
    fn terminate_leftovers(&mut self) {
        let by_now = Instant::now() + self.leftover_grace;
        let kill_at = match self.phase {
            ShutdownPhase::Running => by_now,
            ShutdownPhase::Terminating { kill_at } => kill_at.min(by_now),
            ShutdownPhase::Killing { .. } => return,
        };
        self.tree.terminate_all();
        self.phase = ShutdownPhase::Terminating { kill_at };
    }

    fn handle_order(&mut self, order: SupervisorOrder) {
        match (order, self.phase) {
            (SupervisorOrder::Stop, ShutdownPhase::Running) => {
                match self.stop {
                    StopSignal::Terminate => self.tree.terminate_all(),
                    StopSignal::Interrupt => self.tree.interrupt(),
                }
                let kill_at = Instant::now() + self.grace;
                self.phase = ShutdownPhase::Terminating { kill_at };
            }
            (SupervisorOrder::Kill, ShutdownPhase::Running | ShutdownPhase::Terminating { .. }) => {
                self.start_killing();
            }
            (SupervisorOrder::Go | SupervisorOrder::Stop | SupervisorOrder::Kill, _) => {}
        }
    }

    fn start_killing(&mut self) {
        self.tree.kill_all();
        let now = Instant::now();
        self.phase = ShutdownPhase::Killing {
            since: now,
            next_pass: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
        };
    }

    /// Performs the actions that are due.
    fn escalate_if_due(&mut self) {
        let now = Instant::now();
        match self.phase {
            ShutdownPhase::Terminating { kill_at } if kill_at <= now => self.start_killing(),
            ShutdownPhase::Killing {
                since,
                next_pass,
                pause,
            } if next_pass <= now => {
                self.tree.kill_all();
                let pause = (pause * 2).min(MAX_PAUSE);
                self.phase = ShutdownPhase::Killing {
                    since,
                    next_pass: Instant::now() + pause,
                    pause,
                };
                if now - since > KILL_TIMEOUT {
                    self.report_survivors();
                }
            }
            ShutdownPhase::Running
            | ShutdownPhase::Terminating { .. }
            | ShutdownPhase::Killing { .. } => {}
        }
    }

    /// Reports survivors once, and only if there are any: they may have ended since the last check.
    fn report_survivors(&mut self) {
        let tree = self.tree.report();
        if !self.are_survivors_reported && !tree.survivors.is_empty() {
            self.are_survivors_reported = true;
            self.send(&SupervisorMessage::Surviving(tree));
        }
    }

    /// Sleeps until there is something to do, and handles the main program's orders.
    fn wait_for_events(&mut self) {
        let timeout = match self.phase {
            ShutdownPhase::Running => None,
            ShutdownPhase::Terminating { kill_at: at }
            | ShutdownPhase::Killing { next_pass: at, .. } => {
                Some(at.saturating_duration_since(Instant::now()))
            }
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let has_message = {
            let child = PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN);
            let main = self.control.as_ref();
            let main = main.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let init = self.init.as_ref();
            let init = init.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let is_connected = main.is_some();
            let fds = [Some(child), main, init];
            let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().collect();
            // A signal interrupts the poll, and is a reason to check again.
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            is_connected && fds.get(1).is_some_and(|main| !main.revents().is_empty())
        };
        if has_message {
            self.poll_control();
        }
    }

    fn poll_control(&mut self) {
        match self
            .control
            .as_mut()
            .map(|control| control.receive_ready::<SupervisorOrder>())
        {
            Some(Ok(orders)) => {
                for order in orders {
                    self.handle_order(order);
                }
            }
            // The main program died: no process of its session may continue to write.
            Some(Err(_)) => {
                self.control = None;
                self.handle_order(SupervisorOrder::Kill);
            }
            None => {}
        }
    }
}
