//! The two lines between us and the agent: what we say goes through a named pipe beside its output,
//! for a session's input is a file; what it says is read by whoever captures its output, and handed on
//! from there, one message a line. Bounded in both directions.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::{Sink, Stream, sink, stream};
use rustix::fs::{CWD, FileType, Mode};
use selvedge_core::model::SessionOutcome;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::updates::Updates;
use crate::agents::SessionRequest;
use crate::agents::program::{Told, cannot_write};
use crate::agents::records::{Folded, Reading as _, locked};
use crate::process::capture::{Consumer, Line, Lines};

/// Bytes of one message: files travel in them.
const LINE_LIMIT: usize = 16 << 20;
/// Messages on their way to the conversation.
const QUEUED: usize = 16;

/// A wire that is laid, and over which nothing has been said yet.
pub(super) struct Wire {
    path: PathBuf,
    sender: pipe::Sender,
}

/// Where the reader puts what it hears; closed when the output ends.
pub(super) type Heard = mpsc::Sender<String>;

impl Wire {
    pub(super) fn lay(request: &SessionRequest) -> Result<Self, Box<SessionOutcome>> {
        let path = request.run_dir.join(format!("{}.stdin", request.files));
        let lay = || {
            // One that an earlier try left behind has no reader any more.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Open for both, it neither waits for a reader nor breaks without one.
            pipe::OpenOptions::new().read_write(true).open_sender(&path)
        };
        match lay() {
            Ok(sender) => Ok(Self { path, sender }),
            Err(error) => Err(Box::new(cannot_write(&path, &error))),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What we say, what we hear, and where the reader puts that.
    pub(super) fn ends(
        self,
    ) -> (
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
        Heard,
    ) {
        let (heard, hearing) = mpsc::channel(QUEUED);
        let Self { path, sender } = self;
        let sending = sink::unfold(
            (sender, Remove(path)),
            |(mut sender, path), line: String| async move {
                sender.write_all(line.as_bytes()).await?;
                sender.write_all(b"\n").await?;
                Ok((sender, path))
            },
        );
        let receiving = stream::unfold(hearing, |mut hearing: mpsc::Receiver<String>| async move {
            let line = hearing.recv().await?;
            Some((Ok(line), hearing))
        });
        (sending, receiving, heard)
    }
}

/// Takes the pipe's name away when nobody sends any more.
struct Remove(PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        // A name that stays is in nobody's way.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A consumer that folds what the agent says into `reading` and hands it on to the conversation.
pub(super) fn read_along(
    reading: Arc<Mutex<Folded<Updates>>>,
    heard: Heard,
    told: Told,
) -> impl Consumer + 'static {
    Lines::new(LINE_LIMIT, move |line: Line<'_>| {
        if line.left_out > 0 {
            return locked(&reading).unknown();
        }
        let mut tell = |activity| drop(told.try_send(activity));
        locked(&reading).line(line.bytes, &mut tell);
        // What is no message is no concern of the conversation: some agents print a greeting first.
        let text = String::from_utf8_lossy(line.bytes);
        if text.trim_start().starts_with('{') {
            // Nobody listens any more once the conversation is over.
            let _ = heard.blocking_send(text.into_owned());
        }
    })
}
