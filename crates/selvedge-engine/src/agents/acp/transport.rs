//! The two channels between Selvedge and the agent. Our messages go through a named pipe next to
//! the agent's output, because a session's standard input is a file; the agent's messages are read
//! by the capture of its output and forwarded from there, one message per line. Both directions are
//! bounded.

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

/// Maximum bytes of one message; messages contain files.
const LINE_LIMIT: usize = 16 << 20;
/// Maximum messages waiting for the conversation.
const QUEUE_CAPACITY: usize = 16;

/// A transport that has not been used yet.
pub(super) struct AcpTransport {
    path: PathBuf,
    sender: pipe::Sender,
}

/// Receives the agent's messages; closed at the end of its output.
pub(super) type MessageSender = mpsc::Sender<String>;

impl AcpTransport {
    pub(super) fn create(request: &SessionRequest) -> Result<Self, Box<SessionOutcome>> {
        let path = request.session_file("stdin");
        let lay = || {
            // A pipe left behind by an earlier session has no reader.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Opened for reading and writing, it neither waits for a reader nor breaks without one.
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

    /// Splits into the writer, the reader, and the sender that feeds the reader.
    pub(super) fn into_parts(
        self,
    ) -> (
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
        MessageSender,
    ) {
        let (messages, received) = mpsc::channel(QUEUE_CAPACITY);
        let Self { path, sender } = self;
        let sending = sink::unfold(
            (sender, RemoveOnDrop(path)),
            |(mut sender, path), line: String| async move {
                sender.write_all(line.as_bytes()).await?;
                sender.write_all(b"\n").await?;
                Ok((sender, path))
            },
        );
        let receiving = stream::unfold(
            received,
            |mut received: mpsc::Receiver<String>| async move {
                let line = received.recv().await?;
                Some((Ok(line), received))
            },
        );
        (sending, receiving, messages)
    }
}

/// Removes the pipe's name when the sender is gone.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // A name that cannot be removed does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A consumer that parses the agent's messages into `reading` and forwards them to the
/// conversation.
pub(super) fn parse_output(
    reading: Arc<Mutex<ParsedSession<AcpUpdateParser>>>,
    messages: MessageSender,
    activities: ActivitySender,
) -> impl OutputConsumer + 'static {
    LineSplitter::new(LINE_LIMIT, move |line: OutputLine<'_>| {
        if line.omitted > 0 {
            return lock_parser(&reading).count_unknown();
        }
        let mut tell = |activity| drop(activities.try_send(activity));
        lock_parser(&reading).parse_line(line.bytes, &mut tell);
        // Lines that are not messages are not forwarded: some agents print a greeting first.
        let text = String::from_utf8_lossy(line.bytes);
        if text.trim_start().starts_with('{') {
            // The receiver is gone once the conversation is over.
            let _ = messages.blocking_send(text.into_owned());
        }
    })
}
