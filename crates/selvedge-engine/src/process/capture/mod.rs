//! Bounded capture of a program's output: every byte is counted; the beginning and the end are
//! kept in memory for the report; a file takes it in full up to a stated cap, and its end beyond
//! that; a consumer may read along. However much is printed, memory stays the same (about a
//! megabyte and a half a stream with a consumer, far less without one).
//!
//! Secrets are taken out here, before anybody else sees a byte.
//!
//! Bytes are bytes here: nothing assumes lines or an encoding.

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

/// The bytes that a report keeps of the beginning, and again of the end.
pub const EXCERPT_BYTES: usize = 16 << 10;

/// The cap on a file where the caller names no other.
pub const DEFAULT_FILE_CAP: u64 = 256 << 20;

/// What is to become of the output. Merged streams count as standard output.
#[derive(Default)]
pub struct CapturePlan {
    /// Standard output.
    pub stdout: StreamPlan,
    /// Standard error.
    pub stderr: StreamPlan,
}

/// What is to become of one stream.
pub struct StreamPlan {
    /// The file that takes the stream; made anew.
    pub file: Option<PathBuf>,
    /// How many bytes of the stream the file takes at most.
    pub file_cap: u64,
    /// Who reads along.
    pub consumer: Option<Box<dyn OutputConsumer>>,
    /// Whether who reads along sees secrets too: what it reads is carried out, not kept.
    pub whole_to_consumer: bool,
    /// What is kept of it, where that is not the stream as it is. The consumer sees it unfiltered.
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
    /// Into a file, with the default cap.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(path.into()),
            ..Self::default()
        }
    }

    /// With a reader along.
    #[must_use]
    pub fn with_consumer(mut self, consumer: impl OutputConsumer + 'static) -> Self {
        self.consumer = Some(Box::new(consumer));
        self
    }

    /// With somebody who says what is kept.
    #[must_use]
    pub fn with_filter(mut self, filter: impl OutputFilter + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }
}

/// What became of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// All bytes that were read, as the filter has them where there is one.
    pub bytes: u64,
    /// The first of them, up to [`EXCERPT_BYTES`].
    pub head: Vec<u8>,
    /// The last of those that are not in `head`, up to [`EXCERPT_BYTES`].
    pub tail: Vec<u8>,
    /// The file, if one was planned and could be written.
    pub file: Option<StoredFile>,
    /// Whether the stream was read to its end. `false` when something outside the tree still held
    /// it open, or when nothing was started.
    pub complete: bool,
}

impl CapturedStream {
    /// The bytes between `head` and `tail`.
    pub fn omitted(&self) -> u64 {
        self.bytes - (self.head.len() + self.tail.len()) as u64
    }
}

/// Why output could not be captured. It says nothing about the program.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No space, or no quota, for the file.
    #[error("no space left to store output in {}", .0.display())]
    DiskFull(PathBuf),
    /// The file cannot be written.
    #[error("cannot store output in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The thread that reads, or a consumer, panicked: a defect.
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
