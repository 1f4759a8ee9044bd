//! Converts signals to stop requests.

use std::sync::Arc;

use selvedge_core::model::exit_code;
use selvedge_engine::StopRequest;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::error::CliError;

/// The current stop request, and the exit code of the latest signal.
pub(super) struct StopSignals {
    pub(super) stop: watch::Receiver<Option<StopRequest>>,
    code: watch::Receiver<u8>,
}

impl StopSignals {
    /// Handles signals: the first one requests a suspension; the second one ends this program immediately, and
    /// supervisors end all other processes.
    pub(super) fn listen() -> Result<Self, CliError> {
        let (stop_sender, stop) = watch::channel(None);
        let (code_sender, code) = watch::channel(exit_code::INTERRUPTED);
        let stop_sender = Arc::new(stop_sender);
        let code_sender = Arc::new(code_sender);
        let kinds = [
            (SignalKind::interrupt(), exit_code::INTERRUPTED, "Ctrl-C"),
            (SignalKind::terminate(), exit_code::TERMINATED, "SIGTERM"),
            (SignalKind::hangup(), exit_code::TERMINATED, "SIGHUP"),
        ];
        for (kind, code, name) in kinds {
            let mut signals = signal(kind).map_err(CliError::infrastructure)?;
            let (stop_sender, code_sender) = (Arc::clone(&stop_sender), Arc::clone(&code_sender));
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if stop_sender.borrow().is_some() {
                        std::process::exit(code.into());
                    }
                    code_sender.send_replace(code);
                    stop_sender.send_replace(Some(StopRequest::Suspend(name.to_owned())));
                }
            });
        }
        Ok(Self { stop, code })
    }

    pub(super) fn is_stop_requested(&self) -> bool {
        self.stop.borrow().is_some()
    }

    /// The exit code of the latest signal, or of Ctrl-C if there was none.
    pub(super) fn signal_exit_code(&self) -> u8 {
        *self.code.borrow()
    }
}
