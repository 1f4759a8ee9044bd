//! Cuts a stream of bytes into blocks of whole lines.
//!
//! Whatever looks at a log looks at a block at a time: scans are fastest over long stretches, and
//! lines can be borrowed from the block instead of being copied.
//!
//! Invariant: where a block ends depends on the stream alone, never on the chunks it came in.

use memchr::{memchr2, memrchr};

use super::long_line::LongLine;

/// How much is gathered before its whole lines are passed on. A longer line is a [`LongLine`] one.
const BLOCK_BYTES: usize = 64 << 10;

/// What a stream is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamBlock<'a> {
    /// Whole lines, or what is kept of a long one.
    Lines(&'a [u8]),
    /// A part of a long line, as it is. All its parts come before what is kept of it.
    LongLinePart(&'a [u8]),
}

/// Gathers chunks and passes on blocks.
#[derive(Debug, Default)]
pub(super) struct BlockSplitter {
    bytes: Vec<u8>,
    /// The beginning of a line that is longer than a block.
    long: Option<LongLine>,
}

impl BlockSplitter {
    /// Passes each block that ends within `chunk` to `emit`.
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

    /// Passes on what the end of the stream leaves.
    pub(super) fn finish(mut self, emit: &mut impl FnMut(StreamBlock<'_>)) {
        self.emit_through(self.bytes.len(), emit);
        if let Some(long) = self.long {
            emit(StreamBlock::Lines(&long.finish()));
        }
    }

    /// Passes on the bytes before `end`, which are whole lines; at 0 there is none, and all bytes
    /// are part of a long line.
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

/// Where the last whole line ends; a progress bar may have carriage returns alone, and one that
/// ends the block may yet be followed by a newline.
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
    fn a_block_is_whole_lines() {
        let log = "one line of many\n".repeat(10_000);
        let out = blocks(&[log.as_bytes()]);
        assert!(out.len() > 2 && out.iter().all(|block| block.ends_with('\n')));
        assert_eq!(out.concat(), log);
        let chunks: Vec<&[u8]> = log.as_bytes().chunks(777).collect();
        assert_eq!(blocks(&chunks), out);
    }

    #[test]
    fn a_progress_bar_without_newlines_is_cut_at_its_frames() {
        let log = "fetching 12%\r".repeat(10_000);
        let out = blocks(&[log.as_bytes()]);
        assert!(out.len() > 1 && out.iter().all(|block| block.ends_with("%\r")));
    }

    #[test]
    fn the_parts_of_a_long_line_come_before_what_is_kept_of_it() {
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
    fn a_long_line_is_one_block_and_the_next_line_is_whole() {
        let log = format!("{}\nnext\n", "x".repeat(BLOCK_BYTES * 3));
        let out = blocks(&[log.as_bytes()]);
        assert_eq!(out.len(), 2);
        assert_eq!(out[1], "next\n");
    }
}
