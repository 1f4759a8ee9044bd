//! More output than anybody asked for.

use std::io::{self, Write};

use super::script::{Flood, FloodKind, OutputStream};
use super::session_writer::SessionWriter;

const LINE: &[u8] =
    b"The quick brown fox jumps over the lazy dog, and again, and over and over again.\n";
/// Large enough that the pipe, not the writing, is what takes the time.
const CHUNK: usize = 64 * 1024;

/// Pours it all out, or as much as somebody takes.
pub(super) fn write_flood(flood: &Flood, voice: &mut dyn SessionWriter) -> io::Result<()> {
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
        OutputStream::Stdout => voice.write_raw(bytes),
        OutputStream::Stderr => io::stderr().write_all(bytes),
    };
    let mut left = flood.bytes;
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(CHUNK).min(chunk.len());
        out(chunk.get(..some).unwrap_or(&chunk))?;
        left = left.saturating_sub(u64::try_from(some).unwrap_or(left));
    }
    // Whatever is said next begins a line of its own.
    out(b"\n")
}
