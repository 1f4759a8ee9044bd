//! Splits a stream of bytes into blocks of whole lines.
//!
//! Logs are processed one block at a time: scans are fastest over long stretches, and lines can be borrowed
//! from the block instead of being copied.
//!
//! Invariant: block boundaries depend only on the stream, never on the chunks it arrived in.

use memchr::{memchr2, memrchr};

use super::long_line::LongLine;

/// How much is buffered before its whole lines are emitted. A longer line becomes a [`LongLine`].
const BLOCK_BYTES: usize = 64 << 10;

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamBlock<'a> {
    /// Whole lines, or the kept part of a long line.
    Lines(&'a [u8]),
    /// A raw part of a long line. All its parts come before the kept part.
    LongLinePart(&'a [u8]),
}

/// Buffers chunks and emits blocks.
#[derive(Debug, Default)]
pub(super) struct BlockSplitter {
    bytes: Vec<u8>,
    /// The beginning of a line that is longer than a block.
    long: Option<LongLine>,
}

impl BlockSplitter {
    /// Emits each block that ends within `chunk` to `emit`.
    pub(super) fn feed(&mut self, mut chunk: &[u8], emit: &mut impl FnMut(StreamBlock<'_>)) {
        while !chunk.is_empty() {
            let room = BLOCK_BYTES - self.bytes.len();
            let (now, later) = chunk.split_at(room.min(chunk.len()));
            self.bytes.extend_from_slice(now);
            chunk = later;
            if self.bytes.len() == BLOCK_BYTES {
                let end = end_of_lines(&self.bytes);
                self.emit_through(end, emit);
            }
        }
    }

    /// Emits the rest at the end of the stream.
    pub(super) fn finish(mut self, emit: &mut impl FnMut(StreamBlock<'_>)) {
        self.emit_through(self.bytes.len(), emit);
        if let Some(long) = self.long {
            emit(StreamBlock::Lines(&long.finish()));
        }
    }

    /// Emits the bytes before `end`, which are whole lines. If `end` is 0, there is no whole line, and all
    /// bytes are part of a long line.
    fn emit_through(&mut self, end: usize, emit: &mut impl FnMut(StreamBlock<'_>)) {
        let mut lines = &self.bytes[..end];
        if end == 0 {
            self.long.get_or_insert_default().push(&self.bytes);
            emit(StreamBlock::LongLinePart(&self.bytes));
            self.bytes.clear();
            return;
        }
        if let Some(mut long) = self.long.take() {
            let rest = memchr2(b'\n', b'\r', lines).unwrap_or(lines.len());
            long.push(&lines[..rest]);
            if rest > 0 {
                emit(StreamBlock::LongLinePart(&lines[..rest]));
            }
            emit(StreamBlock::Lines(&long.finish()));
            lines = lines.get(rest + 1..).unwrap_or_default();
        }
        if !lines.is_empty() {
            emit(StreamBlock::Lines(lines));
        }
        self.bytes.drain(..end);
    }
}

/// End of the last whole line. A progress bar may have carriage returns only, and one at the end of the block
/// may still be followed by a newline.
fn end_of_lines(block: &[u8]) -> usize {
    let newline = memrchr(b'\n', block);
    let (_, before) = block.split_last().unwrap_or((&0, block));
    newline
        .or_else(|| memrchr(b'\r', before))
        .map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(chunks: &[&[u8]]) -> Vec<String> {
        let mut out = Vec::new();
        let mut emit = |block: StreamBlock<'_>| {
            if let StreamBlock::Lines(lines) = block {
                out.push(String::from_utf8_lossy(lines).into_owned());
            }
        };
        let mut blocks = BlockSplitter::default();
        for chunk in chunks {
            blocks.feed(chunk, &mut emit);
        }
        blocks.finish(&mut emit);
        out
    }

    #[test]
    fn block_splitter_returns_whole_lines() {
        let log = "one line of many\n".repeat(10_000);
        let out = blocks(&[log.as_bytes()]);
        assert!(out.len() > 2 && out.iter().all(|block| block.ends_with('\n')));
        assert_eq!(out.concat(), log);
        let chunks: Vec<&[u8]> = log.as_bytes().chunks(777).collect();
        assert_eq!(blocks(&chunks), out);
    }

    #[test]
    fn block_splitter_cuts_progress_bar_at_frames() {
        let log = "fetching 12%\r".repeat(10_000);
        let out = blocks(&[log.as_bytes()]);
        assert!(out.len() > 1 && out.iter().all(|block| block.ends_with("%\r")));
    }

    #[test]
    fn block_splitter_emits_parts_before_long_line() {
        let long = "é".repeat(BLOCK_BYTES);
        let log = format!("first\n{long}\nlast\n");
        let (mut parts, mut lines) = (Vec::new(), 0);
        let mut emit = |block: StreamBlock<'_>| match block {
            StreamBlock::LongLinePart(part) => {
                assert_eq!(lines, 1);
                parts.extend_from_slice(part);
            }
            StreamBlock::Lines(_) => lines += 1,
        };
        let mut blocks = BlockSplitter::default();
        blocks.feed(log.as_bytes(), &mut emit);
        blocks.finish(&mut emit);
        assert_eq!((lines, parts), (3, long.into_bytes()));
    }

    #[test]
    fn block_splitter_long_line_is_one_block() {
        let log = format!("{}\nnext\n", "x".repeat(BLOCK_BYTES * 3));
        let out = blocks(&[log.as_bytes()]);
        assert_eq!(out.len(), 2);
        assert_eq!(out[1], "next\n");
    }
}
