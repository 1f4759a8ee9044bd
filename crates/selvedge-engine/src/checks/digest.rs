//! The digest reading a check's output along, on the capture's own thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_digest::{Analysis, CommandStatus, Digester, Hints, PassingOutput};

use crate::process::capture::OutputConsumer;

/// The end that is given to the capture.
pub(super) struct DigestConsumer {
    digester: Option<Digester>,
    done: Arc<Mutex<Option<Digester>>>,
}

/// The end that is kept: what was read, once the capture is over.
pub(super) struct DigestHandle(Arc<Mutex<Option<Digester>>>);

/// How much of an output that passed is read again, in bytes.
const MAX_PASSED_OUTPUT_BYTES: u64 = 64 << 20;

/// What the check printed when it last passed, if it did; a file that cannot be read helps nobody
/// and harms nobody.
pub(super) async fn load_passing_output(file: Option<PathBuf>) -> PassingOutput {
    let Some(file) = file else {
        return PassingOutput::default();
    };
    let reading = tokio::task::spawn_blocking(move || {
        let mut passed = PassingOutput::default();
        if let Ok(file) = File::open(file) {
            let _ = std::io::copy(&mut file.take(MAX_PASSED_OUTPUT_BYTES), &mut passed);
        }
        passed
    });
    reading.await.unwrap_or_default()
}

/// Both ends of one digest.
pub(super) fn digest_pair(command: &str, passed: PassingOutput) -> (DigestConsumer, DigestHandle) {
    let done = Arc::new(Mutex::new(None));
    let digester = Some(Digester::new(Hints::command(command)).with_passing_output(passed));
    (
        DigestConsumer {
            digester,
            done: Arc::clone(&done),
        },
        DigestHandle(done),
    )
}

impl OutputConsumer for DigestConsumer {
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

impl DigestHandle {
    /// What was read means, given how the program ended.
    pub(super) fn finish(self, exit: CommandStatus) -> Option<Analysis> {
        let digester = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        digester.map(|digester| digester.finish(exit))
    }
}
