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

use super::updates::AcpUpdateParser;
use crate::agents::SessionRequest;
use crate::agents::jsonl::{ParsedSession, SessionParser as _, lock_parser};
use crate::agents::program::{ActivitySender, write_error_outcome};
use crate::process::capture::{LineSplitter, OutputConsumer, OutputLine};

/// Bytes of one message: files travel in them.
const LINE_LIMIT: usize = 16 << 20;
/// Messages on their way to the conversation.
const QUEUE_CAPACITY: usize = 16;

/// A wire that is laid, and over which nothing has been said yet.
pub(super) struct AcpTransport {
    path: PathBuf,
    sender: pipe::Sender,
}

/// Where the reader puts what it hears; closed when the output ends.
pub(super) type MessageSender = mpsc::Sender<String>;

impl AcpTransport {
    pub(super) fn create(request: &SessionRequest) -> Result<Self, Box<SessionOutcome>> {
        let path = request
            .run_dir
            .join(format!("{}.stdin", request.file_prefix));
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
            Err(error) => Err(Box::new(write_error_outcome(&path, &error))),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What we say, what we hear, and where the reader puts that.
    pub(super) fn into_parts(
        self,
    ) -> (
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
        MessageSender,
    ) {
        let (heard, hearing) = mpsc::channel(QUEUE_CAPACITY);
        let Self { path, sender } = self;
        let sending = sink::unfold(
            (sender, RemoveOnDrop(path)),
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
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // A name that stays is in nobody's way.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A consumer that folds what the agent says into `reading` and hands it on to the conversation.
pub(super) fn parse_output(
    reading: Arc<Mutex<ParsedSession<AcpUpdateParser>>>,
    heard: MessageSender,
    told: ActivitySender,
) -> impl OutputConsumer + 'static {
    LineSplitter::new(LINE_LIMIT, move |line: OutputLine<'_>| {
        if line.omitted > 0 {
            return lock_parser(&reading).count_unknown();
        }
        let mut tell = |activity| drop(told.try_send(activity));
        lock_parser(&reading).parse_line(line.bytes, &mut tell);
        // What is no message is no concern of the conversation: some agents print a greeting first.
        let text = String::from_utf8_lossy(line.bytes);
        if text.trim_start().starts_with('{') {
            // Nobody listens any more once the conversation is over.
            let _ = heard.blocking_send(text.into_owned());
        }
    })
}
