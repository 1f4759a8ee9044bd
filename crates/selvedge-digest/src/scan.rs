//! One scan over a whole block of lines for what tells: words of trouble, and places in files.
//!
//! It decides who looks at a line at all: most lines of a log bear no signal, and for those little
//! more than the scan is paid. Invariant: no part of the block is searched twice, however its lines
//! are asked for; and where no line is asked for, nothing is.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, Match, MatchKind};

use crate::line::LineSignals;

/// Where a telling word stands, and what sort it is of.
pub(crate) type SignalWord = (Range<usize>, LineSignals);

/// The telling words in a stretch of text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = SignalWord> {
    WORDS.find_iter(text).map(to_signal_word)
}

fn to_signal_word(word: Match) -> SignalWord {
    let (_, signals) = TABLE[word.pattern().as_usize()];
    (word.range(), signals)
}

/// Scans a block of lines.
pub(crate) fn scan(block: &str) -> SignalScan<'_> {
    SignalScan {
        text: block.as_bytes(),
        end: 0,
        word: NO_WORD,
        next_location: usize::MAX,
    }
}

/// How much is searched together, in bytes: enough for the search to be fast, and little where the
/// lines that follow need none.
const STRETCH: usize = 4 << 10;

/// What comes after the last word.
const NO_WORD: SignalWord = (usize::MAX..usize::MAX, LineSignals::NONE);

/// What tells in a block, found while its lines are asked for.
pub(crate) struct SignalScan<'a> {
    text: &'a [u8],
    /// Where the stretch ends that is searched; it is one of whole lines.
    end: usize,
    /// The first word of the stretch that was not asked for yet.
    word: SignalWord,
    /// Where the first such colon or parenthesis stands before a digit.
    next_location: usize,
}

impl SignalScan<'_> {
    /// What stands between these bytes of the block; to be asked for line after line, but for those
    /// of which it is known already.
    #[inline]
    pub(crate) fn signals(&mut self, start: usize, end: usize) -> LineSignals {
        if self.end < end {
            self.end = self.end_of_stretch(end);
            self.word = self.word_from(start);
            self.next_location = self.location_from(start);
        }
        let mut found = LineSignals::NONE;
        while self.word.0.start < end {
            let (word, signals) = &self.word;
            if start <= word.start && word.end <= end {
                found = found.with(*signals);
            }
            self.word = self.word_from(word.end.max(start));
        }
        if self.next_location < start {
            self.next_location = self.location_from(start);
        }
        // The digit, too, is to stand within.
        if self.next_location.saturating_add(1) < end {
            found = found.with(LineSignals::LOCATION);
        }
        found
    }

    /// Where the last line ends that begins within a stretch whose first line ends here.
    fn end_of_stretch(&self, end: usize) -> usize {
        let least = end.saturating_add(STRETCH);
        let rest = self.text.get(least..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.text.len(), |newline| least + newline)
    }

    fn word_from(&self, start: usize) -> SignalWord {
        let rest = Input::new(self.text).span(start..self.end);
        WORDS.find(rest).map_or(NO_WORD, to_signal_word)
    }

    fn location_from(&self, start: usize) -> usize {
        let rest = self.text.get(start..self.end).unwrap_or_default();
        find_location(rest).saturating_add(start)
    }
}

/// Loops over so many bytes, without a branch in them, become a few instructions.
const LANES: usize = 32;
/// So many are looked at together where it is known that there is one.
const FEW: usize = 8;

/// Where the first colon or parenthesis stands before a digit; beyond all text if there is none.
fn find_location(text: &[u8]) -> usize {
    let (Some((_, marks)), Some((_, digits))) = (text.split_last(), text.split_first()) else {
        return usize::MAX;
    };
    let from = bytes_without_location::<LANES>(marks, digits);
    let (marks, digits) = (&marks[from..], &digits[from..]);
    let near = bytes_without_location::<FEW>(marks, digits);
    let mut rest = marks[near..].iter().zip(&digits[near..]);
    rest.position(|(&mark, &digit)| is_location(mark, digit) != 0)
        .map_or(usize::MAX, |at| from + near + at)
}

/// How many bytes at the beginning are without a place, in steps of so many.
fn bytes_without_location<const STEP: usize>(marks: &[u8], digits: &[u8]) -> usize {
    let (marks, _) = marks.as_chunks::<STEP>();
    let (digits, _) = digits.as_chunks::<STEP>();
    let steps = marks.iter().zip(digits);
    STEP * steps
        .take_while(|(marks, digits)| !contains_location(*marks, *digits))
        .count()
}

fn contains_location(marks: &[u8], digits: &[u8]) -> bool {
    let pairs = marks.iter().zip(digits);
    pairs.fold(0, |found, (&mark, &digit)| found | is_location(mark, digit)) != 0
}

/// One if it is a place, without a branch.
#[inline]
fn is_location(mark: u8, digit: u8) -> u8 {
    let marked = u8::from(mark == b':') | u8::from(mark == b'(');
    marked & u8::from(digit.wrapping_sub(b'0') < 10)
}

/// Stems rather than words, so that one pattern stands for both cases of a first letter. None is
/// shorter than four bytes: the scan looks at four at a time, and short ones would make it stumble.
const TABLE: [(&str, LineSignals); 64] = [
    ("rror", LineSignals::ERROR),
    ("RROR", LineSignals::ERROR),
    ("fail", LineSignals::FAIL),
    ("Fail", LineSignals::FAIL),
    ("FAIL", LineSignals::FAIL),
    ("UNEXPECTED", LineSignals::FAIL),
    ("fatal", LineSignals::FATAL),
    ("Fatal", LineSignals::FATAL),
    ("FATAL", LineSignals::FATAL),
    ("panic", LineSignals::FATAL),
    ("bort", LineSignals::FATAL),
    ("illed", LineSignals::FATAL),
    ("egmentation", LineSignals::FATAL),
    ("SIGS", LineSignals::FATAL),
    ("SIGA", LineSignals::FATAL),
    ("SIGK", LineSignals::FATAL),
    ("SIGT", LineSignals::FATAL),
    ("SIGI", LineSignals::FATAL),
    ("ore dumped", LineSignals::FATAL),
    ("CRASH", LineSignals::FATAL),
    ("xception", LineSignals::EXCEPTION),
    ("raceback", LineSignals::EXCEPTION),
    ("warn", LineSignals::WARNING),
    ("Warn", LineSignals::WARNING),
    ("WARN", LineSignals::WARNING),
    ("everity", LineSignals::WARNING),
    (": *W,", LineSignals::WARNING),
    (": *E,", LineSignals::ERROR),
    ("ssert", LineSignals::ASSERT),
    ("xpected", LineSignals::ASSERT),
    ("actual", LineSignals::ASSERT),
    ("ot found", LineSignals::PROBLEM),
    ("annot", LineSignals::PROBLEM),
    ("an't", LineSignals::PROBLEM),
    ("ould not", LineSignals::PROBLEM),
    ("nable to", LineSignals::PROBLEM),
    ("ndefined", LineSignals::PROBLEM),
    ("nvalid", LineSignals::PROBLEM),
    ("issing", LineSignals::PROBLEM),
    ("enied", LineSignals::PROBLEM),
    ("Is a directory", LineSignals::PROBLEM),
    ("efused", LineSignals::PROBLEM),
    ("imeout", LineSignals::PROBLEM),
    ("imed out", LineSignals::PROBLEM),
    ("o such", LineSignals::PROBLEM),
    ("onflict", LineSignals::PROBLEM),
    ("iolation", LineSignals::PROBLEM),
    ("ejected", LineSignals::PROBLEM),
    ("nresolved", LineSignals::PROBLEM),
    ("xceeded", LineSignals::PROBLEM),
    ("ffense", LineSignals::PROBLEM),
    ("not ok", LineSignals::CROSS),
    ("✗ ", LineSignals::CROSS),
    ("✘ ", LineSignals::CROSS),
    ("✖ ", LineSignals::CROSS),
    ("✕ ", LineSignals::CROSS),
    (" × ", LineSignals::CROSS),
    (", line ", LineSignals::LOCATION),
    (" at line", LineSignals::LOCATION),
    ("✓ ", LineSignals::TICK),
    ("✔ ", LineSignals::TICK),
    ("xited", LineSignals::EXIT),
    ("exit code", LineSignals::EXIT),
    ("exit status", LineSignals::EXIT),
];

static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(TABLE.iter().map(|(word, _)| word))
        .unwrap_or_else(|error| unreachable!("a short constant list builds: {error}"))
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds of each line of a text.
    fn signals(text: &str) -> Vec<LineSignals> {
        let mut scan = scan(text);
        let mut start = 0;
        let ends = text.split('\n').map(|line| {
            let end = start + line.len();
            let signals = scan.signals(start, end);
            start = end + 1;
            signals
        });
        ends.collect()
    }

    #[test]
    fn a_line_has_what_stands_within_it_wherever_it_lies_in_the_block() {
        let plain = "nothing is to be told of this line\n".repeat(50);
        for filler in 0..70 {
            let text = format!("{}\n{plain}a.c:7\nerror:\n8 is (9", "x".repeat(filler));
            let found = signals(&text);
            let told: Vec<_> = found
                .into_iter()
                .filter(|s| *s != LineSignals::NONE)
                .collect();
            assert_eq!(
                told,
                [
                    LineSignals::LOCATION,
                    LineSignals::ERROR,
                    LineSignals::LOCATION
                ]
            );
        }
    }

    #[test]
    fn lines_that_are_not_asked_for_change_nothing() {
        let text = "nothing at all\nit failed\nat a.c:7\n(no place\n".repeat(1000);
        let all = signals(&text);
        for step in [2, 3, 5, 130, 999] {
            let (mut scan, mut start) = (scan(&text), 0);
            for (number, line) in text.split('\n').enumerate() {
                let end = start + line.len();
                if number % step == 1 {
                    assert_eq!(scan.signals(start, end), all[number]);
                }
                start = end + 1;
            }
        }
    }

    #[test]
    fn what_stands_in_a_prefix_is_no_signal() {
        let signals = |start, end| scan("error a:1 x").signals(start, end);
        assert_eq!(
            signals(0, 11),
            LineSignals::ERROR.with(LineSignals::LOCATION)
        );
        assert_eq!(signals(2, 11), LineSignals::LOCATION);
        assert_eq!(signals(8, 11), LineSignals::NONE);
        assert_eq!(signals(2, 8), LineSignals::NONE);
    }
}
