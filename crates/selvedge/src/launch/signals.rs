//! Signals as wishes to stop.

use std::sync::Arc;

use selvedge_core::model::exit_code;
use selvedge_engine::StopRequest;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::error::CliError;

/// Wishes to stop, and the exit code of the signal behind the latest one.
pub(super) struct StopSignals {
    pub(super) stop: watch::Receiver<Option<StopRequest>>,
    code: watch::Receiver<u8>,
}

impl StopSignals {
    /// The first signal asks for a stop for now; the second ends this program at once, and the
    /// supervisors end everything else.
    pub(super) fn listen() -> Result<Self, CliError> {
        let (wish, stop) = watch::channel(None);
        let (which, code) = watch::channel(exit_code::INTERRUPTED);
        let wish = Arc::new(wish);
        let which = Arc::new(which);
        let kinds = [
            (SignalKind::interrupt(), exit_code::INTERRUPTED, "Ctrl-C"),
            (SignalKind::terminate(), exit_code::TERMINATED, "SIGTERM"),
            (SignalKind::hangup(), exit_code::TERMINATED, "SIGHUP"),
        ];
        for (kind, code, name) in kinds {
            let mut signals = signal(kind).map_err(CliError::infrastructure)?;
            let (wish, which) = (Arc::clone(&wish), Arc::clone(&which));
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if wish.borrow().is_some() {
                        std::process::exit(code.into());
                    }
                    which.send_replace(code);
                    wish.send_replace(Some(StopRequest::Suspend(name.to_owned())));
                }
            });
        }
        Ok(Self { stop, code })
    }

    /// Whether somebody wishes a stop.
    pub(super) fn is_stop_requested(&self) -> bool {
        self.stop.borrow().is_some()
    }

    /// The exit code of the signal that came, or of Ctrl-C.
    pub(super) fn signal_exit_code(&self) -> u8 {
        *self.code.borrow()
    }
}
