//! One cleaned line of the log, and the signals that one fast scan finds in it.
//!
//! The scan runs over whole blocks of lines and decides who looks at a line at all: most lines of a
//! log bear no signal, and for those nothing but the scan is paid.

use std::iter::Peekable;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// One cleaned line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Its number in the cleaned log, counted from 1.
    pub(crate) number: u64,
    /// Its text, without trailing space.
    pub(crate) text: &'a str,
    /// The last line before it that was not indented.
    pub(crate) heading: &'a str,
    /// What the scan found.
    pub(crate) signals: Signals,
    indent: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn new(number: u64, text: &'a str, heading: &'a str, signals: Signals) -> Self {
        // Most lines are not indented, or by blanks alone; only the others are decoded.
        let blanks = text.bytes().take_while(|&byte| byte == b' ').count();
        let indent = match text.as_bytes().get(blanks) {
            Some(b'!'..=b'~') => blanks,
            _ => text.len() - text.trim_start().len(),
        };
        Self {
            number,
            text,
            heading,
            signals,
            indent,
        }
    }

    /// What this line says within a wrapping of some format.
    pub(crate) fn saying<'b>(&self, text: &'b str) -> Line<'b>
    where
        'a: 'b,
    {
        Line::new(self.number, text, self.heading, Signals::scan(text))
    }

    /// The text without its indentation.
    pub(crate) fn body(&self) -> &'a str {
        &self.text[self.indent..]
    }

    /// How many bytes of white space stand before the text.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }
}

/// The sorts of telling words in a line, as a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Signals(u16);

impl Signals {
    pub(crate) const NONE: Self = Self(0);
    /// error
    pub(crate) const ERROR: Self = Self(1);
    /// fail, failure
    pub(crate) const FAIL: Self = Self(1 << 1);
    /// fatal, panic, abort, killed, segmentation fault
    pub(crate) const FATAL: Self = Self(1 << 2);
    /// exception, traceback
    pub(crate) const EXCEPTION: Self = Self(1 << 3);
    /// warning
    pub(crate) const WARNING: Self = Self(1 << 4);
    /// assert, expected, actual
    pub(crate) const ASSERT: Self = Self(1 << 5);
    /// not found, cannot, undefined, invalid, denied …
    pub(crate) const TROUBLE: Self = Self(1 << 6);
    /// the crosses that test runners draw, and TAP's `not ok`
    pub(crate) const CROSS: Self = Self(1 << 7);
    /// the ticks that test runners draw
    pub(crate) const TICK: Self = Self(1 << 8);
    /// a file and a line: `:12`, `(12`, `line 12`
    pub(crate) const PLACE: Self = Self(1 << 9);
    /// exited, exit code
    pub(crate) const EXIT: Self = Self(1 << 10);

    /// Everything that speaks of a failure by itself.
    pub(crate) const BAD: Self = Self(
        Self::ERROR.0
            | Self::FAIL.0
            | Self::FATAL.0
            | Self::EXCEPTION.0
            | Self::WARNING.0
            | Self::ASSERT.0
            | Self::TROUBLE.0
            | Self::CROSS.0,
    );

    /// How many sorts there are.
    pub(crate) const COUNT: usize = 11;

    /// A bit for each sort.
    pub(crate) fn set(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What stands in a text of its own.
    pub(crate) fn scan(text: &str) -> Self {
        scan(text).signals(0, text)
    }
}

/// The telling words of a block, found in one scan while its lines are asked for.
pub(crate) struct Words<W: Iterator>(Peekable<W>);

/// Scans a block of lines.
pub(crate) fn scan(block: &str) -> Words<impl Iterator<Item = Word>> {
    Words(words(block.as_bytes()).peekable())
}

impl<W: Iterator<Item = Word>> Words<W> {
    /// What stands in the line whose text begins at `start`; to be asked for line after line.
    pub(crate) fn signals(&mut self, start: usize, text: &str) -> Signals {
        let end = start + text.len();
        let mut found = Signals::NONE;
        while let Some((word, signals)) = self.0.next_if(|(word, _)| word.start < end) {
            if start <= word.start && word.end <= end {
                found = found.with(signals);
            }
        }
        if has_place(text.as_bytes()) {
            found = found.with(Signals::PLACE);
        }
        found
    }
}

/// Where a telling word stands, and what sort it is of.
pub(crate) type Word = (Range<usize>, Signals);

/// The telling words in a stretch of text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = Word> {
    WORDS.find_iter(text).map(|word| {
        let (_, signals) = TABLE[word.pattern().as_usize()];
        (word.range(), signals)
    })
}

/// Whether a colon or a parenthesis stands before a digit.
fn has_place(text: &[u8]) -> bool {
    let (Some((_, marks)), Some((_, digits))) = (text.split_last(), text.split_first()) else {
        return false;
    };
    // The last lanes overlap those before them, so that no odd bytes are left over.
    match (marks.last_chunk(), digits.last_chunk()) {
        (Some(last_marks), Some(last_digits)) => {
            let (marks, _) = marks.as_chunks();
            let (digits, _) = digits.as_chunks();
            let mut lanes = marks.iter().zip(digits);
            place_in(last_marks, last_digits)
                || lanes.any(|(marks, digits)| place_in(marks, digits))
        }
        _ => marks
            .iter()
            .zip(digits)
            .any(|(mark, digit)| matches!(mark, b':' | b'(') && digit.is_ascii_digit()),
    }
}

/// Loops over so many bytes, without a branch in them, become single instructions.
const LANES: usize = 16;

#[inline]
fn place_in(marks: &[u8; LANES], digits: &[u8; LANES]) -> bool {
    let mut found = 0;
    for (&mark, &digit) in marks.iter().zip(digits) {
        let marked = u8::from(mark == b':') | u8::from(mark == b'(');
        found |= marked & u8::from(digit.wrapping_sub(b'0') < 10);
    }
    found != 0
}

/// Stems rather than words, so that one pattern stands for both cases of a first letter. None is
/// shorter than four bytes: the scan looks at four at a time, and short ones would make it stumble.
const TABLE: [(&str, Signals); 63] = [
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
