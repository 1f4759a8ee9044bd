//! The thread that reads a session's output. One thread reads both streams and sleeps in `poll`
//! while there is no output. It ends at the end of both streams, or when it is asked to stop
//! waiting.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use selvedge_core::redact::{self, Redactor};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::consumer::ConsumerFeed;
use super::file::{CappedFile, TAIL_BYTES};
use super::tail::TailBuffer;
use super::{CaptureError, CapturePlan, CapturedStream, EXCERPT_BYTES, OutputFilter, StreamPlan};
use crate::process::timeouts::Heartbeat;

/// Buffer size of one read.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum reads from one stream before the other one gets its turn.
const READS_PER_TURN: usize = 16;

/// The pipes of a session: standard output, and standard error unless it is merged.
type OutputPipes = Option<(PipeReader, Option<PipeReader>)>;

/// The async side of the reading thread. Dropping it ends the thread.
#[derive(Debug)]
pub(in crate::process) struct OutputReader {
    /// Dropped to make the thread stop waiting.
    stop: PipeWriter,
    heartbeat: Heartbeat,
    failure: Option<oneshot::Receiver<CaptureError>>,
    thread: JoinHandle<(CapturedStream, CapturedStream)>,
    consumers: Vec<JoinHandle<()>>,
}

impl OutputReader {
    /// Creates the files and starts reading.
    pub(in crate::process) fn start(
        plan: CapturePlan,
        pipes: OutputPipes,
        heartbeat: Heartbeat,
        redactor: &Redactor,
    ) -> Result<Self, CaptureError> {
        let (stdout, stderr) = pipes.map_or((None, None), |(out, err)| (Some(out), err));
        let mut consumers = Vec::new();
        let streams = [
            StreamReader::open(plan.stdout, stdout, redactor, &mut consumers)?,
            StreamReader::open(plan.stderr, stderr, redactor, &mut consumers)?,
        ];
        let (told_to_stop, stop) = io::pipe().map_err(|_| CaptureError::Reader)?;
        let (tell_failure, failure) = oneshot::channel();
        let reader = ReaderThread {
            streams,
            stop_signal: told_to_stop,
            heartbeat: heartbeat.clone(),
            failure_sender: Some(tell_failure),
        };
        Ok(Self {
            stop,
            heartbeat,
            failure: Some(failure),
            thread: tokio::task::spawn_blocking(move || reader.read_all()),
            consumers,
        })
    }

    /// Completes when storing the output has failed; otherwise never. Cancel safe.
    pub(in crate::process) async fn wait_for_failure(&mut self) -> CaptureError {
        if let Some(failure) = &mut self.failure {
            let failed = failure.await;
            self.failure = None;
            if let Ok(error) = failed {
                return error;
            }
        }
        std::future::pending().await
    }

    /// Waits for the end of the streams and until the consumers have processed what was read. Call
    /// it when the tree is gone: a process that still holds a stream open is then outside of the
    /// tree. The stream is given up after `drain` without output, or after thirty times that long
    /// with output.
    ///
    /// Returns an error only if [`wait_for_failure`](Self::wait_for_failure) has not returned it
    /// already.
    pub(in crate::process) async fn finish(
        mut self,
        drain: Duration,
    ) -> (CapturedStream, CapturedStream, Option<CaptureError>) {
        let read = tokio::select! {
            read = &mut self.thread => read,
            () = wait_until_idle(&self.heartbeat, drain) => {
                drop(self.stop);
                self.thread.await
            }
        };
        let mut failure = self.failure.and_then(|mut failure| failure.try_recv().ok());
        for consumer in self.consumers {
            if consumer.await.is_err() {
                failure = failure.or(Some(CaptureError::Reader));
            }
        }
        match read {
            Ok((stdout, stderr)) => (stdout, stderr, failure),
            Err(_) => (
                CapturedStream::default(),
                CapturedStream::default(),
                Some(CaptureError::Reader),
            ),
        }
    }
}

async fn wait_until_idle(heartbeat: &Heartbeat, drain: Duration) {
    let silence = heartbeat.wait_until_idle_since(Instant::now(), drain);
    // The time limit is the other reason to give up.
    let _ = tokio::time::timeout(drain * 30, silence).await;
}

/// Data owned by the thread.
struct ReaderThread {
    streams: [StreamReader; 2],
    stop_signal: PipeReader,
    heartbeat: Heartbeat,
    failure_sender: Option<oneshot::Sender<CaptureError>>,
}

impl ReaderThread {
    fn read_all(mut self) -> (CapturedStream, CapturedStream) {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut last_turn = false;
        while !last_turn && self.streams.iter().any(|stream| stream.pipe.is_some()) {
            self.heartbeat.mark_waiting();
            last_turn = self.wait_readable();
            self.heartbeat.mark_busy();
            for stream in &mut self.streams {
                if let Err(error) = stream.read_turn(&mut buffer) {
                    report_failure(&mut self.failure_sender, error);
                }
            }
        }
        let [stdout, stderr] = self.streams.map(|stream| {
            let (captured, error) = stream.finish();
            if let Some(error) = error {
                report_failure(&mut self.failure_sender, error);
            }
            captured
        });
        (stdout, stderr)
    }

    /// Sleeps until there is something to read; returns `true` if the thread must stop.
    fn wait_readable(&self) -> bool {
        let stop = PollFd::from_borrowed_fd(self.stop_signal.as_fd(), PollFlags::IN);
        let pipes = self
            .streams
            .iter()
            .filter_map(|stream| stream.pipe.as_ref());
        let pipes = pipes.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = [stop].into_iter().chain(pipes).collect();
        // An interrupted poll reports nothing, and the reads after it find nothing.
        let _ = rustix::event::poll(&mut fds, None);
        !fds[0].revents().is_empty()
    }
}

/// Reports the first failure, which ends the session; later ones are dropped.
fn report_failure(teller: &mut Option<oneshot::Sender<CaptureError>>, error: CaptureError) {
    if let Some(teller) = teller.take() {
        // The receiver is gone if the session was dropped.
        let _ = teller.send(error);
    }
}

/// One stream and its destinations.
struct StreamReader {
    /// `None` after its end.
    pipe: Option<PipeReader>,
    complete: bool,
    bytes: u64,
    head: Vec<u8>,
    tail: TailBuffer,
    file: Option<CappedFile>,
    feed: Option<ConsumerFeed>,
    whole_to_feed: bool,
    filter: Option<Box<dyn OutputFilter>>,
    redaction: redact::RedactionStream,
    /// Buffer for filtered or redacted chunks.
    scratch: Vec<u8>,
}

impl StreamReader {
    fn open(
        plan: StreamPlan,
        pipe: Option<PipeReader>,
        redactor: &Redactor,
        consumers: &mut Vec<JoinHandle<()>>,
    ) -> Result<Self, CaptureError> {
        let file = plan
            .file
            .map(|path| CappedFile::create(path, plan.file_cap))
            .transpose()?;
        let feed = plan.consumer.map(|consumer| {
            let (feed, thread) = ConsumerFeed::start(consumer);
            consumers.push(thread);
            feed
        });
        Ok(Self {
            complete: pipe.is_none(),
            pipe,
            bytes: 0,
            head: Vec::new(),
            tail: TailBuffer::new(TAIL_BYTES),
            file,
            feed,
            whole_to_feed: plan.whole_to_consumer,
            filter: plan.filter,
            redaction: redactor.stream(),
            scratch: Vec::new(),
        })
    }

    /// Reads the available bytes, up to a limit. After an error the stream is still read, so that
    /// the program does not block on a full pipe, but no longer stored.
    fn read_turn(&mut self, buffer: &mut [u8]) -> Result<(), CaptureError> {
        let mut result = Ok(());
        for _ in 0..READS_PER_TURN {
            let Some(pipe) = &mut self.pipe else { break };
            let read = match pipe.read(buffer) {
                Ok(0) => {
                    self.complete = true;
                    self.pipe = None;
                    break;
                }
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.pipe = None;
                    break;
                }
            };
            result = result.and(self.take(&buffer[..read]));
        }
        result
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        if let Some(feed) = self.feed.as_ref().filter(|_| self.whole_to_feed) {
            feed.push(chunk);
        }
        let mut room = std::mem::take(&mut self.scratch);
        let decided = self.redaction.push(chunk, &mut room);
        let taken = self.forward(decided);
        self.scratch = room;
        taken
    }

    /// Passes on redacted bytes.
    fn forward(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        if chunk.is_empty() {
            return Ok(());
        }
        if let Some(feed) = self.feed.as_ref().filter(|_| !self.whole_to_feed) {
            feed.push(chunk);
        }
        let Some(filter) = &mut self.filter else {
            return self.store(chunk);
        };
        let mut kept = Vec::new();
        filter.pass(chunk, &mut kept);
        self.store(&kept)
    }

    fn store(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        self.bytes += chunk.len() as u64;
        let room = EXCERPT_BYTES - self.head.len();
        self.head.extend_from_slice(&chunk[..room.min(chunk.len())]);
        self.tail.push(chunk);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let written = file.write(chunk);
        if written.is_err() {
            self.file = None;
        }
        written
    }

    fn finish(mut self) -> (CapturedStream, Option<CaptureError>) {
        let mut undecided = Vec::new();
        self.redaction.finish(&mut undecided);
        let last = self.forward(&undecided);
        let mut held_back = Vec::new();
        if let Some(mut filter) = self.filter.take() {
            filter.finish(&mut held_back);
        }
        let rest = last.and(self.store(&held_back));
        let beyond_head = self.bytes - self.head.len() as u64;
        let kept =
            usize::try_from(beyond_head).map_or(EXCERPT_BYTES, |beyond| beyond.min(EXCERPT_BYTES));
        let file = self.file.map(|file| file.finish(self.bytes, &self.tail));
        let (file, error) = match file {
            Some(Ok(file)) => (Some(file), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, rest.err()),
        };
        let captured = CapturedStream {
            bytes: self.bytes,
            head: self.head,
            tail: self.tail.last_bytes(kept),
            file,
            complete: self.complete,
        };
        (captured, error)
    }
}
