//! The thread that reads a session's output: one for both streams, asleep in `poll` while nothing
//! comes. It ends with the streams, or when it is told that nothing more is worth waiting for.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use selvedge_core::redact::{self, Redactor};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::consumer::Feed;
use super::file::{CappedFile, KEPT_TAIL};
use super::tail::Tail;
use super::{CaptureError, Captured, EXCERPT, Filter, Plan, StreamPlan};
use crate::process::clocks::Heartbeat;

/// The bytes of one read.
const CHUNK: usize = 64 << 10;

/// Reads from one stream before the other gets its turn.
const TURN: usize = 16;

/// The pipes of a session: standard output, and standard error unless it is merged.
type Pipes = Option<(PipeReader, Option<PipeReader>)>;

/// The async side of the reading thread. Dropping it lets the thread end.
#[derive(Debug)]
pub(in crate::process) struct Pump {
    /// Dropped to tell the thread that enough was waited.
    stop: PipeWriter,
    heartbeat: Heartbeat,
    failure: Option<oneshot::Receiver<CaptureError>>,
    thread: JoinHandle<(Captured, Captured)>,
    consumers: Vec<JoinHandle<()>>,
}

impl Pump {
    /// Creates the files and starts reading.
    pub(in crate::process) fn start(
        plan: Plan,
        pipes: Pipes,
        heartbeat: Heartbeat,
        redactor: &Redactor,
    ) -> Result<Self, CaptureError> {
        let (stdout, stderr) = pipes.map_or((None, None), |(out, err)| (Some(out), err));
        let mut consumers = Vec::new();
        let streams = [
            Stream::open(plan.stdout, stdout, redactor, &mut consumers)?,
            Stream::open(plan.stderr, stderr, redactor, &mut consumers)?,
        ];
        let (told_to_stop, stop) = io::pipe().map_err(|_| CaptureError::Reader)?;
        let (tell_failure, failure) = oneshot::channel();
        let reader = Reader {
            streams,
            told_to_stop,
            heartbeat: heartbeat.clone(),
            tell_failure: Some(tell_failure),
        };
        Ok(Self {
            stop,
            heartbeat,
            failure: Some(failure),
            thread: tokio::task::spawn_blocking(move || reader.read_all()),
            consumers,
        })
    }

    /// Ends when storing has failed; never when it has not. Safe to cancel.
    pub(in crate::process) async fn failed(&mut self) -> CaptureError {
        if let Some(failure) = &mut self.failure {
            let failed = failure.await;
            self.failure = None;
            if let Ok(error) = failed {
                return error;
            }
        }
        std::future::pending().await
    }

    /// Waits for the streams' end and for the consumers to have worked off what was read. To be
    /// called when the tree is gone: what then still holds a stream open stands outside of it, and
    /// gets `drain` of silence, or thirty times that of chatter, before the stream is given up.
    ///
    /// An error here is one that [`failed`](Self::failed) has not told.
    pub(in crate::process) async fn finish(
        mut self,
        drain: Duration,
    ) -> (Captured, Captured, Option<CaptureError>) {
        let read = tokio::select! {
            read = &mut self.thread => read,
            () = enough(&self.heartbeat, drain) => {
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
                Captured::default(),
                Captured::default(),
                Some(CaptureError::Reader),
            ),
        }
    }
}

async fn enough(heartbeat: &Heartbeat, drain: Duration) {
    let silence = heartbeat.silence_since(Instant::now(), drain);
    // Running out of time is the other way to have had enough.
    let _ = tokio::time::timeout(drain * 30, silence).await;
}

/// What the thread owns.
struct Reader {
    streams: [Stream; 2],
    told_to_stop: PipeReader,
    heartbeat: Heartbeat,
    tell_failure: Option<oneshot::Sender<CaptureError>>,
}

impl Reader {
    fn read_all(mut self) -> (Captured, Captured) {
        let mut buffer = vec![0; CHUNK];
        let mut last_turn = false;
        while !last_turn && self.streams.iter().any(|stream| stream.pipe.is_some()) {
            self.heartbeat.waiting();
            last_turn = self.wait();
            self.heartbeat.busy();
            for stream in &mut self.streams {
                if let Err(error) = stream.read_turn(&mut buffer) {
                    tell(&mut self.tell_failure, error);
                }
            }
        }
        let [stdout, stderr] = self.streams.map(|stream| {
            let (captured, error) = stream.finish();
            if let Some(error) = error {
                tell(&mut self.tell_failure, error);
            }
            captured
        });
        (stdout, stderr)
    }

    /// Sleeps until there is something to read; `true` when told to stop.
    fn wait(&self) -> bool {
        let stop = PollFd::from_borrowed_fd(self.told_to_stop.as_fd(), PollFlags::IN);
        let pipes = self
            .streams
            .iter()
            .filter_map(|stream| stream.pipe.as_ref());
        let pipes = pipes.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = [stop].into_iter().chain(pipes).collect();
        // A poll that was interrupted found nothing, and so do the reads that follow.
        let _ = rustix::event::poll(&mut fds, None);
        !fds[0].revents().is_empty()
    }
}

/// The first failure ends the session; nobody needs the second.
fn tell(teller: &mut Option<oneshot::Sender<CaptureError>>, error: CaptureError) {
    if let Some(teller) = teller.take() {
        // Nobody listens when the session was dropped.
        let _ = teller.send(error);
    }
}

/// One stream and all that becomes of it.
struct Stream {
    /// `None` once it has ended.
    pipe: Option<PipeReader>,
    complete: bool,
    bytes: u64,
    head: Vec<u8>,
    tail: Tail,
    file: Option<CappedFile>,
    feed: Option<Feed>,
    whole_to_feed: bool,
    filter: Option<Box<dyn Filter>>,
    redaction: redact::Stream,
    /// Where it puts what is not a chunk as it came.
    room: Vec<u8>,
}

impl Stream {
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
            let (feed, thread) = Feed::start(consumer);
            consumers.push(thread);
            feed
        });
        Ok(Self {
            complete: pipe.is_none(),
            pipe,
            bytes: 0,
            head: Vec::new(),
            tail: Tail::new(KEPT_TAIL),
            file,
            feed,
            whole_to_feed: plan.whole_to_consumer,
            filter: plan.filter,
            redaction: redactor.stream(),
            room: Vec::new(),
        })
    }

    /// Reads what is there, but not for ever. After an error the stream is still read, so that the
    /// program does not hang on a full pipe, but stored no more.
    fn read_turn(&mut self, buffer: &mut [u8]) -> Result<(), CaptureError> {
        let mut result = Ok(());
        for _ in 0..TURN {
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
        let mut room = std::mem::take(&mut self.room);
        let decided = self.redaction.push(chunk, &mut room);
        let taken = self.tell(decided);
        self.room = room;
        taken
    }

    /// Passes on what may be seen.
    fn tell(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        if chunk.is_empty() {
            return Ok(());
        }
        if let Some(feed) = self.feed.as_ref().filter(|_| !self.whole_to_feed) {
            feed.push(chunk);
        }
        let Some(filter) = &mut self.filter else {
            return self.keep(chunk);
        };
        let mut kept = Vec::new();
        filter.pass(chunk, &mut kept);
        self.keep(&kept)
    }

    fn keep(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        self.bytes += chunk.len() as u64;
        let room = EXCERPT - self.head.len();
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

    fn finish(mut self) -> (Captured, Option<CaptureError>) {
        let mut undecided = Vec::new();
        self.redaction.finish(&mut undecided);
        let last = self.tell(&undecided);
        let mut held_back = Vec::new();
        if let Some(mut filter) = self.filter.take() {
            filter.finish(&mut held_back);
        }
        let rest = last.and(self.keep(&held_back));
        let beyond_head = self.bytes - self.head.len() as u64;
        let kept = usize::try_from(beyond_head).map_or(EXCERPT, |beyond| beyond.min(EXCERPT));
        let file = self.file.map(|file| file.finish(self.bytes, &self.tail));
        let (file, error) = match file {
            Some(Ok(file)) => (Some(file), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, rest.err()),
        };
        let captured = Captured {
            bytes: self.bytes,
            head: self.head,
            tail: self.tail.last(kept),
            file,
            complete: self.complete,
        };
        (captured, error)
    }
}
