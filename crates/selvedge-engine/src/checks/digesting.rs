//! The digest reading a check's output along, on the capture's own thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_digest::{Analysis, Digester, Exit, Hints, LastGreen};

use crate::process::capture::Consumer;

/// The end that is given to the capture.
pub(super) struct Reader {
    digester: Option<Digester>,
    done: Arc<Mutex<Option<Digester>>>,
}

/// The end that is kept: what was read, once the capture is over.
pub(super) struct Reading(Arc<Mutex<Option<Digester>>>);

/// How much of an output that passed is read again, in bytes.
const PASSED_BYTES: u64 = 64 << 20;

/// What the check printed when it last passed, if it did; a file that cannot be read helps nobody
/// and harms nobody.
pub(super) async fn last_green(file: Option<PathBuf>) -> LastGreen {
    let Some(file) = file else {
        return LastGreen::default();
    };
    let reading = tokio::task::spawn_blocking(move || {
        let mut passed = LastGreen::default();
        if let Ok(file) = File::open(file) {
            let _ = std::io::copy(&mut file.take(PASSED_BYTES), &mut passed);
        }
        passed
    });
    reading.await.unwrap_or_default()
}

/// Both ends of one digest.
pub(super) fn pair(command: &str, passed: LastGreen) -> (Reader, Reading) {
    let done = Arc::new(Mutex::new(None));
    let digester = Some(Digester::new(Hints::command(command)).with_last_green(passed));
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
