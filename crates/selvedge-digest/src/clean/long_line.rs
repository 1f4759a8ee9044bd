//! A line too long to be held in memory: minified code, a document on one line, the dots of a test run.
//!
//! The beginning of such a line is kept, and the surroundings of each salient word further in, up to a limit,
//! with a mark for the omitted parts. The whole line is read once.

use crate::line::LineSignals;
use crate::scan::words;

/// How much of the beginning is kept, in bytes.
const HEAD_BYTES: usize = 8 << 10;
/// How much is kept in total, in bytes.
const KEPT_BYTES: usize = 16 << 10;
/// How much is kept before a salient word, and from its beginning on, in bytes. No word is longer.
const BEFORE: usize = 160;
const AFTER: usize = 320;
/// Replaces omitted bytes.
const MARK: &[u8] = " … ".as_bytes();

/// The kept parts of a long line.
#[derive(Debug, Default)]
pub(super) struct LongLine {
    kept: Vec<u8>,
    /// The last bytes, because a salient word may span pieces.
    piece: Vec<u8>,
    /// End of the part of `piece` that was scanned.
    scanned: usize,
    /// End of the part of `piece` that was kept.
    kept_up_to: usize,
}

impl LongLine {
    /// Adds the next part of the line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.kept.is_empty() {
            self.kept_up_to = boundary(bytes, HEAD_BYTES.min(bytes.len()));
            self.kept.extend_from_slice(&bytes[..self.kept_up_to]);
        }
        self.piece.extend_from_slice(bytes);
        self.keep_salient_words(self.piece.len().saturating_sub(AFTER));
        let done = self.piece.len().saturating_sub(AFTER + BEFORE);
        self.piece.drain(..done);
        self.scanned = self.scanned.saturating_sub(done);
        self.kept_up_to = self.kept_up_to.saturating_sub(done);
    }

    /// Returns the kept parts of the line.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.keep_salient_words(self.piece.len());
        self.kept
    }

    /// Keeps the surroundings of the salient words that begin before `until`.
    fn keep_salient_words(&mut self, until: usize) {
        let from = self.scanned;
        self.scanned = until.max(from);
        let telling = words(&self.piece[from..])
            .map(|(range, signals)| (from + range.start, signals))
            .take_while(|(at, _)| *at < until)
            .filter(|(_, signals)| signals.intersects(LineSignals::ANY_FAILURE));
        for (at, _) in telling {
            if self.kept.len() + MARK.len() + BEFORE + AFTER > KEPT_BYTES {
                return;
            }
            let start = boundary(&self.piece, at.saturating_sub(BEFORE)).max(self.kept_up_to);
            let end = boundary(&self.piece, (at + AFTER).min(self.piece.len()));
            if start > self.kept_up_to {
                self.kept.extend_from_slice(MARK);
            }
            if let Some(window) = self.piece.get(start..end) {
                self.kept.extend_from_slice(window);
                self.kept_up_to = end;
            }
        }
    }
}

/// The next character boundary, in UTF-8.
fn boundary(bytes: &[u8], from: usize) -> usize {
    let inside = bytes[from..].iter().take(3);
    from + inside.take_while(|&&byte| byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(parts: &[&str]) -> String {
        let mut long = LongLine::default();
        for part in parts {
            long.push(part.as_bytes());
        }
        String::from_utf8(long.finish()).unwrap()
    }

    #[test]
    fn long_line_keeps_salient_words() {
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
    fn long_line_is_bounded_at_character_boundaries() {
        let flood = "é error ü ".repeat(40_000);
        let kept = kept(&[&flood, &flood]);
        assert!(kept.len() <= KEPT_BYTES + MARK.len(), "{}", kept.len());
    }
}
