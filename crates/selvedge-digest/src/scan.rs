//! One scan over a whole block of lines for what tells: words of trouble, and places in files.
//!
//! It decides who looks at a line at all: most lines of a log bear no signal, and for those little
//! more than the scan is paid. Invariant: the block is searched once, from its start to its end,
//! however its lines are asked for.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::line::Signals;

/// Where a telling word stands, and what sort it is of.
pub(crate) type Word = (Range<usize>, Signals);

/// The telling words in a stretch of text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = Word> {
    WORDS.find_iter(text).map(|word| {
        let (_, signals) = TABLE[word.pattern().as_usize()];
        (word.range(), signals)
    })
}

/// Scans a block of lines.
pub(crate) fn scan(block: &str) -> Scan<'_, impl Iterator<Item = Word>> {
    let mut words = words(block.as_bytes());
    Scan {
        word: words.next().unwrap_or(NO_WORD),
        words,
        places: Places::new(block.as_bytes()),
    }
}

/// What comes after the last word.
const NO_WORD: Word = (usize::MAX..usize::MAX, Signals::NONE);

/// What tells in a block, found while its lines are asked for.
pub(crate) struct Scan<'a, W> {
    /// The next word, and those after it.
    word: Word,
    words: W,
    places: Places<'a>,
}

impl<W: Iterator<Item = Word>> Scan<'_, W> {
    /// What stands between these bytes of the block; to be asked for line after line.
    #[inline]
    pub(crate) fn signals(&mut self, start: usize, end: usize) -> Signals {
        let mut found = Signals::NONE;
        while self.word.0.start < end {
            let (word, signals) = &self.word;
            if start <= word.start && word.end <= end {
                found = found.with(*signals);
            }
            self.word = self.words.next().unwrap_or(NO_WORD);
        }
        if self.places.stand_within(start, end) {
            found = found.with(Signals::PLACE);
        }
        found
    }
}

/// Where a colon or a parenthesis stands before a digit.
struct Places<'a> {
    text: &'a [u8],
    /// The first of them after what was asked for.
    next: usize,
}

impl<'a> Places<'a> {
    fn new(text: &'a [u8]) -> Self {
        let next = place(text);
        Self { text, next }
    }

    #[inline]
    fn stand_within(&mut self, start: usize, end: usize) -> bool {
        if self.next < start {
            let rest = self.text.get(start..).unwrap_or_default();
            self.next = place(rest).saturating_add(start);
        }
        // The digit, too, is to stand within.
        self.next.saturating_add(1) < end
    }
}

/// Loops over so many bytes, without a branch in them, become a few instructions.
const LANES: usize = 32;

/// Where the first place stands; beyond all text if there is none.
fn place(text: &[u8]) -> usize {
    let (Some((_, marks)), Some((_, digits))) = (text.split_last(), text.split_first()) else {
        return usize::MAX;
    };
    let (marks_by_lanes, _) = marks.as_chunks::<LANES>();
    let (digits_by_lanes, _) = digits.as_chunks::<LANES>();
    let without = marks_by_lanes
        .iter()
        .zip(digits_by_lanes)
        .take_while(|(marks, digits)| !place_in(marks, digits))
        .count();
    let from = without * LANES;
    let mut rest = marks[from..].iter().zip(&digits[from..]);
    rest.position(|(&mark, &digit)| is_place(mark, digit) != 0)
        .map_or(usize::MAX, |at| from + at)
}

fn place_in(marks: &[u8; LANES], digits: &[u8; LANES]) -> bool {
    let pairs = marks.iter().zip(digits);
    pairs.fold(0, |found, (&mark, &digit)| found | is_place(mark, digit)) != 0
}

/// One if it is a place, without a branch.
#[inline]
fn is_place(mark: u8, digit: u8) -> u8 {
    let marked = u8::from(mark == b':') | u8::from(mark == b'(');
    marked & u8::from(digit.wrapping_sub(b'0') < 10)
}

/// Stems rather than words, so that one pattern stands for both cases of a first letter. None is
/// shorter than four bytes: the scan looks at four at a time, and short ones would make it stumble.
const TABLE: [(&str, Signals); 64] = [
    ("rror", Signals::ERROR),
    ("RROR", Signals::ERROR),
    ("fail", Signals::FAIL),
    ("Fail", Signals::FAIL),
    ("FAIL", Signals::FAIL),
    ("UNEXPECTED", Signals::FAIL),
    ("fatal", Signals::FATAL),
    ("Fatal", Signals::FATAL),
    ("FATAL", Signals::FATAL),
    ("panic", Signals::FATAL),
    ("bort", Signals::FATAL),
    ("illed", Signals::FATAL),
    ("egmentation", Signals::FATAL),
    ("SIGS", Signals::FATAL),
    ("SIGA", Signals::FATAL),
    ("SIGK", Signals::FATAL),
    ("SIGT", Signals::FATAL),
    ("SIGI", Signals::FATAL),
    ("ore dumped", Signals::FATAL),
    ("CRASH", Signals::FATAL),
    ("xception", Signals::EXCEPTION),
    ("raceback", Signals::EXCEPTION),
    ("warn", Signals::WARNING),
    ("Warn", Signals::WARNING),
    ("WARN", Signals::WARNING),
    ("everity", Signals::WARNING),
    (": *W,", Signals::WARNING),
    (": *E,", Signals::ERROR),
    ("ssert", Signals::ASSERT),
    ("xpected", Signals::ASSERT),
    ("actual", Signals::ASSERT),
    ("ot found", Signals::TROUBLE),
    ("annot", Signals::TROUBLE),
    ("an't", Signals::TROUBLE),
    ("ould not", Signals::TROUBLE),
    ("nable to", Signals::TROUBLE),
    ("ndefined", Signals::TROUBLE),
    ("nvalid", Signals::TROUBLE),
    ("issing", Signals::TROUBLE),
    ("enied", Signals::TROUBLE),
    ("Is a directory", Signals::TROUBLE),
    ("efused", Signals::TROUBLE),
    ("imeout", Signals::TROUBLE),
    ("imed out", Signals::TROUBLE),
    ("o such", Signals::TROUBLE),
    ("onflict", Signals::TROUBLE),
    ("iolation", Signals::TROUBLE),
    ("ejected", Signals::TROUBLE),
    ("nresolved", Signals::TROUBLE),
    ("xceeded", Signals::TROUBLE),
    ("ffense", Signals::TROUBLE),
    ("not ok", Signals::CROSS),
    ("✗ ", Signals::CROSS),
    ("✘ ", Signals::CROSS),
    ("✖ ", Signals::CROSS),
    ("✕ ", Signals::CROSS),
    (" × ", Signals::CROSS),
    (", line ", Signals::PLACE),
    (" at line", Signals::PLACE),
    ("✓ ", Signals::TICK),
    ("✔ ", Signals::TICK),
    ("xited", Signals::EXIT),
    ("exit code", Signals::EXIT),
    ("exit status", Signals::EXIT),
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
    fn signals(text: &str) -> Vec<Signals> {
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
            let told: Vec<_> = found.into_iter().filter(|s| *s != Signals::NONE).collect();
            assert_eq!(told, [Signals::PLACE, Signals::ERROR, Signals::PLACE]);
        }
    }

    #[test]
    fn what_stands_in_a_prefix_is_no_signal() {
        let signals = |start, end| scan("error a:1 x").signals(start, end);
        assert_eq!(signals(0, 11), Signals::ERROR.with(Signals::PLACE));
        assert_eq!(signals(2, 11), Signals::PLACE);
        assert_eq!(signals(8, 11), Signals::NONE);
        assert_eq!(signals(2, 8), Signals::NONE);
    }
}
