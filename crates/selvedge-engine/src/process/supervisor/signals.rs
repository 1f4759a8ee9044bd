//! Signal handling of the supervisor: all signals are ignored except SIGCHLD, which wakes it.
//! Handlers are installed instead of ignoring signals, because an exec resets a handled signal to
//! its default while an ignored one stays ignored, and the program must start with the default
//! signal dispositions.

use std::io;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// Signals that would end the supervisor, or that a parent process may have left ignored.
const IGNORED_SIGNALS: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2];

/// Spawns a child that inherits a mask of the signals that a terminal sends to its whole foreground
/// group. Otherwise Ctrl-C would end a child that is not in its own group yet or has not installed
/// its handlers yet. A supervisor unblocks them in [`SupervisorSignals::install`]; other children
/// leave them blocked.
pub(crate) fn spawn_with_blocked_signals<T>(
    spawn: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let shielded: SigSet = IGNORED_SIGNALS
        .iter()
        .filter_map(|number| Signal::try_from(*number).ok())
        .collect();
    let before = shielded.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let child = spawn();
    before.thread_set_mask()?;
    child
}

/// The supervisor's signal handlers.
pub(super) struct SupervisorSignals {
    child_ended: UnixStream,
}

impl SupervisorSignals {
    /// Installs the handlers and clears the inherited mask.
    pub(super) fn install() -> io::Result<Self> {
        for signal in IGNORED_SIGNALS {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let (child_ended, write) = UnixStream::pair()?;
        child_ended.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, write)?;
        SigSet::empty().thread_set_mask()?;
        Ok(Self { child_ended })
    }

    /// Discards the wake-ups so far. Call it *before* reaping children, so that a child that ends
    /// afterwards is not missed.
    pub(super) fn drain_wakeups(&mut self) {
        let mut sink = [0; 64];
        while matches!(self.child_ended.read(&mut sink), Ok(read) if read > 0) {}
    }
}

/// Readable when a child has ended.
impl AsFd for SupervisorSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.child_ended.as_fd()
    }
}
