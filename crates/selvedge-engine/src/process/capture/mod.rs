//! Bounded capture of a program's output. Every byte is counted; the beginning and the end are kept
//! in memory for the report; a file stores the stream up to a cap, and the stream's end beyond
//! that; a consumer may read the stream at the same time. Memory use does not depend on the amount
//! of output (about 1.5 MB per stream with a consumer, far less without one).
//!
//! Secrets are redacted here, before anything else sees the output.
//!
//! Output is handled as bytes: nothing assumes lines or an encoding.

mod consumer;
mod file;
mod filter;
mod lines;
mod output_reader;
mod tail;

use std::io;
use std::path::{Path, PathBuf};

pub use consumer::OutputConsumer;
pub use file::StoredFile;
pub use filter::OutputFilter;
pub use lines::{LineSplitter, OutputLine};
pub(super) use output_reader::OutputReader;

/// Bytes that a report keeps of the beginning of a stream, and of its end.
pub const EXCERPT_BYTES: usize = 16 << 10;

/// Default cap on a file.
pub const DEFAULT_FILE_CAP: u64 = 256 << 20;

/// How the output is captured. Merged streams count as standard output.
#[derive(Default)]
pub struct CapturePlan {
    /// Standard output.
    pub stdout: StreamPlan,
    /// Standard error.
    pub stderr: StreamPlan,
}

/// How one stream is captured.
pub struct StreamPlan {
    /// The file that stores the stream; created, or truncated if it exists.
    pub file: Option<PathBuf>,
    /// Maximum bytes of the stream that the file stores.
    pub file_cap: u64,
    /// Reads the stream while it is captured.
    pub consumer: Option<Box<dyn OutputConsumer>>,
    /// Whether the consumer receives the stream without redaction: its input is acted on, not
    /// stored.
    pub whole_to_consumer: bool,
    /// Filters the bytes that are stored. The consumer receives the unfiltered stream.
    pub filter: Option<Box<dyn OutputFilter>>,
}

impl Default for StreamPlan {
    fn default() -> Self {
        Self {
            file: None,
            file_cap: DEFAULT_FILE_CAP,
            consumer: None,
            whole_to_consumer: false,
            filter: None,
        }
    }
}

impl StreamPlan {
    /// Captures into a file with the default cap.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(path.into()),
            ..Self::default()
        }
    }

    /// Adds a consumer.
    #[must_use]
    pub fn with_consumer(mut self, consumer: impl OutputConsumer + 'static) -> Self {
        self.consumer = Some(Box::new(consumer));
        self
    }

    /// Adds a filter.
    #[must_use]
    pub fn with_filter(mut self, filter: impl OutputFilter + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }
}

/// The captured output of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// Number of bytes read, after the filter if there is one.
    pub bytes: u64,
    /// The first bytes, up to [`EXCERPT_BYTES`].
    pub head: Vec<u8>,
    /// The last bytes that are not in `head`, up to [`EXCERPT_BYTES`].
    pub tail: Vec<u8>,
    /// The file, if one was planned and could be written.
    pub file: Option<StoredFile>,
    /// Whether the stream was read to its end. `false` if a process outside the tree still held it
    /// open, or if nothing was started.
    pub complete: bool,
}

impl CapturedStream {
    /// Number of bytes between `head` and `tail`.
    pub fn omitted(&self) -> u64 {
        self.bytes - (self.head.len() + self.tail.len()) as u64
    }
}

/// Why output could not be captured. It implies nothing about the program.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No disk space or quota is left for the file.
    #[error("the disk is full: cannot store output in {}", .0.display())]
    DiskFull(PathBuf),
    /// The file cannot be written.
    #[error("cannot store output in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The reading thread or a consumer panicked: a bug.
    #[error("the reader of the output failed")]
    Reader,
}

impl CaptureError {
    fn from_io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull(path.to_owned())
            }
            _ => Self::Io {
                path: path.to_owned(),
                source,
            },
        }
    }
}
