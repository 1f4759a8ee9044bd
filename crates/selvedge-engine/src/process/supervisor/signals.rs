//! What signals mean to the supervisor: nothing, but for SIGCHLD, which wakes it. Handlers are
//! installed rather than signals ignored, because an exec puts a handled signal back to its
//! default while an ignored one stays ignored, and the program shall find every signal as it is
//! on a fresh system.

use std::io;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// Signals that would end the supervisor, or that somebody up the line may have left ignored.
const DISREGARDED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2];

/// What whoever starts a supervisor holds back until it is there: a signal to the whole foreground group, as
/// Ctrl-C is, would end one that has no handlers yet. They are let in by [`Signals::take_over`].
pub(crate) fn held_back_at_birth() -> SigSet {
    let disregarded = DISREGARDED.iter();
    disregarded
        .filter_map(|number| Signal::try_from(*number).ok())
        .collect()
}

/// The supervisor's hold on its signals.
pub(super) struct Signals {
    child_ended: UnixStream,
}

impl Signals {
    /// Installs the handlers and clears the mask that was inherited.
    pub(super) fn take_over() -> io::Result<Self> {
        for signal in DISREGARDED {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let (child_ended, write) = UnixStream::pair()?;
        child_ended.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, write)?;
        SigSet::empty().thread_set_mask()?;
        Ok(Self { child_ended })
    }

    /// Forgets the wake-ups so far. To be called *before* children are reaped, so that none that
    /// ends after the look goes unnoticed.
    pub(super) fn clear(&mut self) {
        let mut sink = [0; 64];
        while matches!(self.child_ended.read(&mut sink), Ok(read) if read > 0) {}
    }
}

/// Readable when a child ended.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.child_ended.as_fd()
    }
}
