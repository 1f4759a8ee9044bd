//! From the program's start until nothing of its tree is left: one loop that sleeps until a child
//! ends, the main program speaks (or dies), or a grace is over.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::control::Control;
use super::signals::Signals;
use super::tree::Tree;
use super::walled::Keeper;
use crate::process::StopSignal;
use crate::process::wire::{Order, Report, Spec};

/// Between two killing passes: the first pass is enough but for what forks faster than it looks,
/// and for what is stuck in the kernel.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// After so much killing, what lives is reported as surviving.
const PATIENCE: Duration = Duration::from_secs(5);

/// Graces beyond reason would overflow the clock.
const LONGEST_GRACE: Duration = Duration::from_hours(24);

/// Where the tree is on its way out.
#[derive(Clone, Copy)]
enum Phase {
    /// The program runs, and nobody wants it to stop.
    Running,
    /// Everything has been asked to end.
    Asked { kill_at: Instant },
    /// Everything is being killed.
    Killing {
        since: Instant,
        next_pass: Instant,
        pause: Duration,
    },
}

pub(super) struct Watch<'a> {
    tree: Tree,
    signals: &'a mut Signals,
    /// `None` once the main program is gone.
    control: Option<&'a mut Control>,
    /// Who tells how the program ended, where it is not our own child; `None` once it is gone.
    keeper: Option<Keeper>,
    phase: Phase,
    survivors_told: bool,
    stop: StopSignal,
    grace: Duration,
    leftover_grace: Duration,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        spec: &Spec,
        (program, keeper): (i32, Option<Keeper>),
        mut tree: Tree,
        signals: &'a mut Signals,
        control: &'a mut Control,
    ) -> Self {
        match &keeper {
            None => tree.plant(program),
            // Its exit is the keeper's to tell: that of the walls says nothing of it.
            Some(keeper) => {
                tree.stands_behind(&keeper.walls, keeper.program);
                if keeper.is_container {
                    tree.is_contained(keeper.container);
                }
            }
        }
        Self {
            tree,
            signals,
            control: Some(control),
            keeper,
            phase: Phase::Running,
            survivors_told: false,
            stop: spec.stop,
            grace: spec.grace.min(LONGEST_GRACE),
            leftover_grace: spec.leftover_grace.min(LONGEST_GRACE),
        }
    }

    /// Runs until the tree is gone; the report of that is left for the caller to send.
    pub(super) fn until_gone(mut self) -> Report {
        loop {
            self.signals.clear();
            let gone = self.tree.reap();
            self.hear_keeper();
            let exit = self.tree.take_exit();
            if let Some(exit) = exit {
                self.tell(&Report::Exited(exit));
            }
            if gone {
                return Report::Gone(self.tree.report());
            }
            if exit.is_some() {
                self.end_leftovers();
            }
            self.end_overdue();
            self.wait();
        }
    }

    /// The keeper's last word is there before it is gone.
    fn hear_keeper(&mut self) {
        let Some(keeper) = &mut self.keeper else {
            return;
        };
        match keeper.hear() {
            Some(exits) => exits.into_iter().for_each(|exit| self.tree.exited(exit)),
            None => self.keeper = None,
        }
    }

    fn tell(&mut self, report: &Report) {
        if let Some(control) = &mut self.control {
            control.tell(report);
        }
    }

    /// The program is gone and something of its tree is not.
    fn end_leftovers(&mut self) {
        let by_now = Instant::now() + self.leftover_grace;
        let kill_at = match self.phase {
            Phase::Running => by_now,
            Phase::Asked { kill_at } => kill_at.min(by_now),
            Phase::Killing { .. } => return,
        };
        self.tree.ask_to_end();
        self.phase = Phase::Asked { kill_at };
    }

    fn obey(&mut self, order: Order) {
        match (order, self.phase) {
            (Order::Stop, Phase::Running) => {
                match self.stop {
                    StopSignal::Terminate => self.tree.ask_to_end(),
                    StopSignal::Interrupt => self.tree.interrupt(),
                }
                let kill_at = Instant::now() + self.grace;
                self.phase = Phase::Asked { kill_at };
            }
            (Order::Kill, Phase::Running | Phase::Asked { .. }) => self.kill(),
            (Order::Go | Order::Stop | Order::Kill, _) => {}
        }
    }

    fn kill(&mut self) {
        self.tree.kill();
        let now = Instant::now();
        self.phase = Phase::Killing {
            since: now,
            next_pass: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
        };
    }

    /// Does what has fallen due since the last look.
    fn end_overdue(&mut self) {
        let now = Instant::now();
        match self.phase {
            Phase::Asked { kill_at } if kill_at <= now => self.kill(),
            Phase::Killing {
                since,
                next_pass,
                pause,
            } if next_pass <= now => {
                self.tree.kill();
                let pause = (pause * 2).min(LONGEST_PAUSE);
                self.phase = Phase::Killing {
                    since,
                    next_pass: Instant::now() + pause,
                    pause,
                };
                if now - since > PATIENCE {
                    self.tell_of_survivors();
                }
            }
            Phase::Running | Phase::Asked { .. } | Phase::Killing { .. } => {}
        }
    }

    /// Once, and only if there are any: they may all have ended since the last look.
    fn tell_of_survivors(&mut self) {
        let tree = self.tree.report();
        if !self.survivors_told && !tree.survivors.is_empty() {
            self.survivors_told = true;
            self.tell(&Report::Surviving(tree));
        }
    }

    /// Sleeps until there is something to do, and does what the main program says.
    fn wait(&mut self) {
        let timeout = match self.phase {
            Phase::Running => None,
            Phase::Asked { kill_at: at } | Phase::Killing { next_pass: at, .. } => {
                Some(at.saturating_duration_since(Instant::now()))
            }
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let spoken = {
            let child = PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN);
            let main = self.control.as_ref();
            let main = main.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let keeper = self.keeper.as_ref();
            let keeper = keeper.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let speaks = main.is_some();
            let fds = [Some(child), main, keeper];
            let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().collect();
            // An interrupted poll is a signal, and so a reason to look.
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            speaks && fds.get(1).is_some_and(|main| !main.revents().is_empty())
        };
        if spoken {
            self.listen();
        }
    }

    fn listen(&mut self) {
        match self
            .control
            .as_mut()
            .map(|control| control.receive_ready::<Order>())
        {
            Some(Ok(orders)) => {
                for order in orders {
                    self.obey(order);
                }
            }
            // The main program died: nothing of its session may go on writing.
            Some(Err(_)) => {
                self.control = None;
                self.obey(Order::Kill);
            }
            None => {}
        }
    }
}
