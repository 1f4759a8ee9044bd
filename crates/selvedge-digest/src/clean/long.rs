//! A line too long to be held: minified code, a document in one line, the dots of a test run.
//!
//! Of such a line the head is kept and what stands around each telling word further in, up to a
//! bound, with a mark for what lies between. The whole of it is read, once.

use crate::line::Signals;
use crate::scan::words;

/// How much of the beginning is kept.
const HEAD_BYTES: usize = 8 << 10;
/// How much is kept in all.
const KEPT_BYTES: usize = 16 << 10;
/// How much is kept before a telling word, and from its beginning on. No word is longer.
const BEFORE: usize = 160;
const FROM: usize = 320;
/// What stands for the bytes that were left out.
const MARK: &[u8] = " … ".as_bytes();

/// What is kept of a long line.
#[derive(Debug, Default)]
pub(super) struct Long {
    kept: Vec<u8>,
    /// What came last, for a telling word may stand across the pieces.
    piece: Vec<u8>,
    /// Up to where in `piece` nothing needs to be looked at again.
    looked: usize,
    /// Up to where in `piece` bytes are kept.
    shown: usize,
}

impl Long {
    /// Takes the next part of the line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.kept.is_empty() {
            self.shown = boundary(bytes, HEAD_BYTES.min(bytes.len()));
            self.kept.extend_from_slice(&bytes[..self.shown]);
        }
        self.piece.extend_from_slice(bytes);
        self.look(self.piece.len().saturating_sub(FROM));
        let done = self.piece.len().saturating_sub(FROM + BEFORE);
        self.piece.drain(..done);
        self.looked = self.looked.saturating_sub(done);
        self.shown = self.shown.saturating_sub(done);
    }

    /// What is kept of the whole line.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.look(self.piece.len());
        self.kept
    }

    /// Keeps what stands around the telling words that begin before `until`.
    fn look(&mut self, until: usize) {
        let from = self.looked;
        self.looked = until.max(from);
        let telling = words(&self.piece[from..])
            .map(|(range, signals)| (from + range.start, signals))
            .take_while(|(at, _)| *at < until)
            .filter(|(_, signals)| signals.intersects(Signals::BAD));
        for (at, _) in telling {
            if self.kept.len() + MARK.len() + BEFORE + FROM > KEPT_BYTES {
                return;
            }
            let start = boundary(&self.piece, at.saturating_sub(BEFORE)).max(self.shown);
            let end = boundary(&self.piece, (at + FROM).min(self.piece.len()));
            if start > self.shown {
                self.kept.extend_from_slice(MARK);
            }
            if let Some(window) = self.piece.get(start..end) {
                self.kept.extend_from_slice(window);
                self.shown = end;
            }
        }
    }
}

/// The next beginning of a character, in UTF-8.
fn boundary(bytes: &[u8], from: usize) -> usize {
    let inside = bytes[from..].iter().take(3);
    from + inside.take_while(|&&byte| byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(parts: &[&str]) -> String {
        let mut long = Long::default();
        for part in parts {
            long.push(part.as_bytes());
        }
        String::from_utf8(long.finish()).unwrap()
    }

    #[test]
    fn a_telling_word_is_found_wherever_it_stands() {
        let dots = ".".repeat(60_000);
        for parts in [
            [&*dots, &*dots, "TypeError: x is undefined", &*dots],
            [&*dots, ".TypeErr", "or: x is undefined", &*dots],
            [&*dots, &*dots, &*dots, "TypeError: x is undefined"],
        ] {
            let kept = kept(&parts);
            assert_eq!(kept.matches("TypeError: x is undefined").count(), 1);
            assert!(kept.starts_with("....") && kept.len() <= KEPT_BYTES + MARK.len());
        }
    }

    #[test]
    fn a_flood_of_telling_words_is_bounded_and_no_character_is_cut() {
        let flood = "é error ü ".repeat(40_000);
        let kept = kept(&[&flood, &flood]);
        assert!(kept.len() <= KEPT_BYTES + MARK.len(), "{}", kept.len());
    }
}
