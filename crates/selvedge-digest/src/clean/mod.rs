//! Turns raw bytes into lines as a person would see them on a screen.
//!
//! [`BlockSplitter`] splits the stream into blocks of whole lines. [`LogCleaner`] turns each block into text
//! without escape sequences, control characters, and overwritten frames. Most blocks are plain text already,
//! which two scans of the block detect; their lines are never copied. [`LinePrefixes`] removes what a wrapper
//! put before every line. All of them use bounded memory, and none depends on a tool.

mod blocks;
mod carriage_returns;
mod escapes;
mod long_line;
mod prefix;

pub use escapes::strip_escapes;
pub(crate) use prefix::LinePrefixes;

use std::ops::Range;

use memchr::memchr_iter;

use blocks::{BlockSplitter, StreamBlock};

/// A piece of the cleaned stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanPiece<'a> {
    /// Clean text: whole lines, each ended by a newline except perhaps the last.
    Text(&'a str),
    /// A raw part of a line that is too long to be held. The kept part of the line is the first text after
    /// its parts.
    LongLinePart(&'a [u8]),
}

/// Turns a stream of bytes into clean text.
#[derive(Debug, Default)]
pub(crate) struct LogCleaner {
    blocks: BlockSplitter,
    text: String,
}

impl LogCleaner {
    /// Emits the text of each block that ends within `bytes`.
    pub(crate) fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(CleanPiece<'_>)) {
        let text = &mut self.text;
        self.blocks
            .feed(bytes, &mut |block| clean(block, text, emit));
    }

    /// Emits the rest at the end of the stream.
    pub(crate) fn finish(mut self, emit: &mut impl FnMut(CleanPiece<'_>)) {
        let text = &mut self.text;
        self.blocks.finish(&mut |block| clean(block, text, emit));
    }
}

/// The lines of a block, without their newlines.
pub(crate) fn lines(block: &str) -> impl Iterator<Item = &str> {
    split(block.as_bytes(), b'\n').map(|range| &block[range])
}

/// Ranges of the parts of a block that end with `mark`.
fn split(block: &[u8], mark: u8) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    memchr_iter(mark, block)
        .chain((!block.ends_with(&[mark])).then_some(block.len()))
        .map(move |end| std::mem::replace(&mut start, end + 1)..end)
}

fn clean(block: StreamBlock<'_>, buffer: &mut String, emit: &mut impl FnMut(CleanPiece<'_>)) {
    let block = match block {
        StreamBlock::Lines(lines) => lines,
        StreamBlock::LongLinePart(part) => return emit(CleanPiece::LongLinePart(part)),
    };
    if let Some(text) = as_plain_text(block) {
        return emit(CleanPiece::Text(text));
    }
    buffer.clear();
    for line in split(block, b'\n') {
        carriage_returns::emit_visible_frames(&block[line], &mut |frame| {
            match as_plain_text(frame) {
                Some(text) => buffer.push_str(text),
                None => match std::str::from_utf8(frame) {
                    Ok(text) => escapes::strip(text, buffer),
                    Err(_) => escapes::strip(&String::from_utf8_lossy(frame), buffer),
                },
            }
            buffer.push('\n');
        });
    }
    emit(CleanPiece::Text(buffer));
}

/// Returns the bytes unchanged if they are text without control characters.
fn as_plain_text(bytes: &[u8]) -> Option<&str> {
    /// Number of bytes that are scanned before a control character ends the search.
    const STRIDE: usize = 4 << 10;
    let is_control = |&b: &u8| b < 0x20 && b != b'\t' && b != b'\n';
    // Folding instead of stopping at the first hit lets the compiler vectorise the scan.
    let controlled = bytes.chunks(STRIDE).any(|stride| {
        stride
            .iter()
            .fold(false, |any, byte| any | is_control(byte))
    });
    if controlled {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{CleanPiece, LogCleaner};

    fn text(chunks: &[&[u8]]) -> String {
        let mut out = String::new();
        let mut emit = |piece: CleanPiece<'_>| {
            let CleanPiece::Text(text) = piece else {
                return;
            };
            out.push_str(text);
            if !text.ends_with('\n') {
                out.push('\n');
            }
        };
        let mut cleaner = LogCleaner::default();
        for chunk in chunks {
            cleaner.feed(chunk, &mut emit);
        }
        cleaner.finish(&mut emit);
        out
    }

    #[test]
    fn lines_end_at_both_kinds_of_newline() {
        assert_eq!(text(&[b"a\r\nb\n\r\nc"]), "a\nb\n\nc\n");
        assert_eq!(text(&[b"a\r", b"\nb\n", b"\r", b"\nc"]), "a\nb\n\nc\n");
        assert_eq!(text(&[b"a\nb\n\n"]), "a\nb\n\n");
    }

    #[test]
    fn cleaner_coloured_line_changes_no_other() {
        let log = "plain ✓\n\x1b[31mred\x1b[0m\nplain\n".as_bytes();
        assert_eq!(text(&[log]), "plain ✓\nred\nplain\n");
        assert_eq!(text(&[b"bad \xff\x00\n"]), "bad \u{fffd}\n");
    }
}
