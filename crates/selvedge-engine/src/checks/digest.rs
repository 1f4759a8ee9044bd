//! Digests a check's output while it is captured, on the capture's thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use selvedge_digest::{Analysis, CommandStatus, Digester, Hints, PassingOutput};

use crate::process::capture::OutputConsumer;

/// Feeds the captured output to the digester.
pub(super) struct DigestConsumer {
    digester: Option<Digester>,
    done: Arc<Mutex<Option<Digester>>>,
}

/// Returns the analysis once the capture has ended.
pub(super) struct DigestHandle(Arc<Mutex<Option<Digester>>>);

/// Maximum bytes that are read of the output of a passing check.
const MAX_PASSED_OUTPUT_BYTES: u64 = 64 << 20;

/// Loads what the check printed when it last passed, if it did. A file that cannot be read is ignored.
pub(super) async fn load_passing_output(file: Option<PathBuf>) -> PassingOutput {
    let Some(file) = file else {
        return PassingOutput::default();
    };
    let reading = tokio::task::spawn_blocking(move || {
        let mut passing_output = PassingOutput::default();
        if let Ok(file) = File::open(file) {
            let _ = std::io::copy(&mut file.take(MAX_PASSED_OUTPUT_BYTES), &mut passing_output);
        }
        passing_output
    });
    reading.await.unwrap_or_default()
}

/// Creates the consumer and the handle of one digest.
pub(super) fn digest_pair(
    command: &str,
    passing_output: PassingOutput,
) -> (DigestConsumer, DigestHandle) {
    let done = Arc::new(Mutex::new(None));
    let digester = Some(Digester::new(Hints::command(command)).with_passing_output(passing_output));
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
            // Writing to a digester cannot fail.
            let _ = digester.write_all(chunk);
        }
    }

    fn finish(&mut self) {
        *self.done.lock() = self.digester.take();
    }
}

impl DigestHandle {
    /// Returns the analysis of the output, given the program's exit status.
    pub(super) fn finish(self, exit: CommandStatus) -> Option<Analysis> {
        let digester = self.0.lock().take();
        digester.map(|digester| digester.finish(exit))
    }
}
