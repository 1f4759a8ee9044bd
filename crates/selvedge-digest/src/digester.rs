//! The door of the crate: bytes in, an [`Analysis`] out.

use std::io;

use crate::analysis::Analysis;

/// How the command that wrote the log ended. Only this decides between success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It ran out of time and was ended.
    TimedOut,
    /// Nobody knows; treated as a failure.
    Unknown,
}

impl Exit {
    /// Whether the command ended with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// What the caller knows of a log. Hints only: the log itself decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The command line that wrote the log.
    pub command: Option<String>,
}

impl Hints {
    /// Hints for the output of this command line.
    pub fn command(line: impl Into<String>) -> Self {
        Self {
            command: Some(line.into()),
        }
    }
}

/// Reads a log once, in chunks of any size, in bounded memory. Feed it through [`io::Write`].
#[derive(Debug)]
pub struct Digester {
    tail: Vec<u8>,
}

impl Digester {
    /// A digester for one log.
    pub fn new(_hints: Hints) -> Self {
        Self { tail: Vec::new() }
    }

    /// Ends the log.
    #[must_use]
    pub fn finish(self, exit: Exit) -> Analysis {
        Analysis::new(exit, String::from_utf8_lossy(&self.tail).into_owned())
    }
}

impl io::Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tail.extend_from_slice(bytes);
        self.tail.drain(..self.tail.len().saturating_sub(400));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a whole log that is already in memory.
#[must_use]
pub fn analyse(bytes: &[u8], hints: Hints, exit: Exit) -> Analysis {
    let mut digester = Digester::new(hints);
    // Invariant: writing to a digester never fails.
    let _ = io::Write::write_all(&mut digester, bytes);
    digester.finish(exit)
}
