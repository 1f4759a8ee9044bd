//! Scans a block of lines for salient words and for places in files.
//!
//! The result decides which readers see a line: most lines of a log have no signal and cost little more than
//! the scan. Invariants: no part of the block is searched twice, in whatever order its lines are requested;
//! and nothing is searched if no line is requested.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, Match, MatchKind};

use crate::line::LineSignals;

/// Position and kind of a salient word.
pub(crate) type SignalWord = (Range<usize>, LineSignals);

/// The salient words in a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = SignalWord> {
    WORDS.0.find_iter(text).map(to_signal_word)
}

fn to_signal_word(word: Match) -> SignalWord {
    (word.range(), WORDS.1[word.pattern().as_usize()])
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

/// Number of bytes that are searched together: enough for a fast search, but little wasted if the following
/// lines are not requested.
const STRETCH: usize = 4 << 10;

/// Marks the end of the words.
const NO_WORD: SignalWord = (usize::MAX..usize::MAX, LineSignals::NONE);

/// The signals of a block, found as its lines are requested.
pub(crate) struct SignalScan<'a> {
    text: &'a [u8],
    /// End of the searched stretch, which consists of whole lines.
    end: usize,
    /// The first word of the stretch that was not consumed yet.
    word: SignalWord,
    /// Position of the next colon or parenthesis before a digit.
    next_location: usize,
}

impl SignalScan<'_> {
    /// The signals between these bytes of the block. Must be called line by line, except for lines whose
    /// signals are known already.
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
        // The digit must be within the line, too.
        if self.next_location.saturating_add(1) < end {
            found = found.with(LineSignals::LOCATION);
        }
        found
    }

    /// End of the last line that begins within a stretch whose first line ends at `end`.
    fn end_of_stretch(&self, end: usize) -> usize {
        let least = end.saturating_add(STRETCH);
        let rest = self.text.get(least..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.text.len(), |newline| least + newline)
    }

    fn word_from(&self, start: usize) -> SignalWord {
        let rest = Input::new(self.text).span(start..self.end);
        WORDS.0.find(rest).map_or(NO_WORD, to_signal_word)
    }

    fn location_from(&self, start: usize) -> usize {
        let rest = self.text.get(start..self.end).unwrap_or_default();
        find_location(rest).saturating_add(start)
    }
}

/// Loops over this many bytes, without a branch, compile to a few instructions.
const LANES: usize = 32;
/// Step size once a match is known to be near.
const FEW: usize = 8;

/// Position of the first colon or parenthesis before a digit; beyond the text if there is none.
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

/// Number of leading bytes without a place, in steps of `STEP`.
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

/// 1 if it is a place, computed without a branch.
#[inline]
fn is_location(mark: u8, digit: u8) -> u8 {
    let marked = u8::from(mark == b':') | u8::from(mark == b'(');
    marked & u8::from(digit.wrapping_sub(b'0') < 10)
}

/// Stems by signal, separated by `|`: one stem covers both cases of a first letter. None is shorter than four
/// bytes: the scan checks four at a time, and shorter ones would slow it down. None is the beginning of another.
const STEMS: [(LineSignals, &str); 11] = [
    (LineSignals::ERROR, "rror|RROR|: *E,"),
    (LineSignals::FAIL, "fail|Fail|FAIL|UNEXPECTED"),
    (
        LineSignals::FATAL,
        "fatal|Fatal|FATAL|panic|bort|illed|egmentation|SIGS|SIGA|SIGK|SIGT|SIGI|ore dumped|CRASH",
    ),
    (LineSignals::EXCEPTION, "xception|raceback"),
    (LineSignals::WARNING, "warn|Warn|WARN|everity|: *W,"),
    (LineSignals::ASSERT, "ssert|xpected|actual"),
    (
        LineSignals::PROBLEM,
        "ot found|annot|an't|ould not|nable to|ndefined|nvalid|issing|enied|Is a directory|efused|imeout|imed out|o such|onflict|iolation|ejected|nresolved|xceeded|ffense",
    ),
    (LineSignals::CROSS, "not ok|✗ |✘ |✖ |✕ | × "),
    (LineSignals::LOCATION, ", line | at line"),
    (LineSignals::TICK, "✓ |✔ "),
    (LineSignals::EXIT, "xited|exit code|exit status"),
];

/// The automaton of the stems, and the signal of each.
static WORDS: LazyLock<(AhoCorasick, Vec<LineSignals>)> = LazyLock::new(|| {
    let stems = STEMS
        .iter()
        .flat_map(|(signal, stems)| stems.split('|').map(move |stem| (stem, *signal)));
    let (stems, signals): (Vec<_>, Vec<_>) = stems.unzip();
    let words = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(stems)
        .unwrap_or_else(|error| unreachable!("a short constant list builds: {error}"));
    (words, signals)
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals of each line of a text.
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
    fn scan_signals_do_not_depend_on_position() {
        let plain = "nothing is reported about this line\n".repeat(50);
        for filler in 0..70 {
            let text = format!("{}\n{plain}a.c:7\nerror:\n8 is (9", "x".repeat(filler));
            let found = signals(&text);
            let scanned: Vec<_> = found
                .into_iter()
                .filter(|s| *s != LineSignals::NONE)
                .collect();
            assert_eq!(
                scanned,
                [
                    LineSignals::LOCATION,
                    LineSignals::ERROR,
                    LineSignals::LOCATION
                ]
            );
        }
    }

    #[test]
    fn scan_skipped_lines_change_nothing() {
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
    fn scan_ignores_signals_in_prefix() {
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
