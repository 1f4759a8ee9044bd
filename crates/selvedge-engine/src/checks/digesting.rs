//! The digest reading a check's output along, on the capture's own thread.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_digest::{Analysis, Digester, Exit, Hints};

use crate::process::capture::Consumer;

/// The end that is given to the capture.
pub(super) struct Reader {
    digester: Option<Digester>,
    done: Arc<Mutex<Option<Digester>>>,
}

/// The end that is kept: what was read, once the capture is over.
pub(super) struct Reading(Arc<Mutex<Option<Digester>>>);

/// Both ends of one digest.
pub(super) fn pair(command: &str) -> (Reader, Reading) {
    let done = Arc::new(Mutex::new(None));
    let digester = Some(Digester::new(Hints::command(command)));
    (
        Reader {
            digester,
            done: Arc::clone(&done),
        },
        Reading(done),
    )
}

impl Consumer for Reader {
    fn take(&mut self, chunk: &[u8]) {
        if let Some(digester) = &mut self.digester {
            // Writing to a digest cannot fail: it takes every byte.
            let _ = digester.write_all(chunk);
        }
    }

    fn finish(&mut self) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = self.digester.take();
    }
}

impl Reading {
    /// What was read means, given how the program ended.
    pub(super) fn finish(self, exit: Exit) -> Option<Analysis> {
        let digester = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        digester.map(|digester| digester.finish(exit))
    }
}
