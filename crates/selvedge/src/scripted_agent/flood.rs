//! Writes large amounts of output.

use std::io::{self, Write};

use super::script::{Flood, FloodKind, OutputStream};
use super::session_writer::SessionWriter;

const LINE: &[u8] =
    b"The quick brown fox jumps over the lazy dog, and again, and over and over again.\n";
/// Large enough that the pipe limits the speed, not the number of writes.
const CHUNK: usize = 64 * 1024;

/// Writes all the output; fails if the reader stops.
pub(super) fn write_flood(flood: &Flood, writer: &mut dyn SessionWriter) -> io::Result<()> {
    let chunk: Vec<u8> = match flood.kind {
        FloodKind::Lines => LINE
            .iter()
            .copied()
            .cycle()
            .take(CHUNK / LINE.len() * LINE.len())
            .collect(),
        FloodKind::OneLine => vec![b'x'; CHUNK],
        FloodKind::Binary => (0..=u8::MAX).cycle().take(CHUNK).collect(),
    };
    let mut out = |bytes: &[u8]| match flood.stream {
        OutputStream::Stdout => writer.write_raw(bytes),
        OutputStream::Stderr => io::stderr().write_all(bytes),
    };
    let mut remaining = flood.bytes;
    while remaining > 0 {
        let some = usize::try_from(remaining).unwrap_or(CHUNK).min(chunk.len());
        out(chunk.get(..some).unwrap_or(&chunk))?;
        remaining = remaining.saturating_sub(u64::try_from(some).unwrap_or(remaining));
    }
    // The next record must begin on a new line.
    out(b"\n")
}
