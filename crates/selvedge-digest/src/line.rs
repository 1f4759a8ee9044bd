//! One cleaned line of the log, and the kinds of salient words that it may contain.

use crate::scan::scan;

/// One cleaned line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CleanLine<'a> {
    /// Its number in the cleaned log, counted from 1.
    pub(crate) number: u64,
    /// Its text, without trailing space.
    pub(crate) text: &'a str,
    /// The last line before it that was not indented.
    pub(crate) heading: &'a str,
    /// The signals that the scan found.
    pub(crate) signals: LineSignals,
    /// The texts that must be captured of a failure that begins here.
    pub(crate) capture: CaptureOptions,
    indent: usize,
}

/// Selects the texts that are captured of a failure; texts that will not be shown need not be collected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CaptureOptions {
    /// Capture texts beyond those that distinguish failures.
    pub(crate) texts: bool,
    /// Capture the template of the first line.
    pub(crate) heading: bool,
}

impl<'a> CleanLine<'a> {
    #[inline]
    pub(crate) fn new(
        number: u64,
        text: &'a str,
        heading: &'a str,
        signals: LineSignals,
        options: CaptureOptions,
    ) -> Self {
        // Most lines are not indented, or only by spaces; only the others are decoded.
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
            capture: options,
            indent,
        }
    }

    /// The content of this line without the wrapping of a format.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> CleanLine<'b>
    where
        'a: 'b,
    {
        let signals = LineSignals::scan(text);
        CleanLine::new(self.number, text, self.heading, signals, self.capture)
    }

    /// The text without its indentation.
    pub(crate) fn body(&self) -> &'a str {
        &self.text[self.indent..]
    }

    /// Number of bytes of white space before the text.
    pub(crate) fn indent(&self) -> usize {
        self.indent
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }
}

/// The kinds of salient words in a line, as a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineSignals(u16);

impl LineSignals {
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
    pub(crate) const PROBLEM: Self = Self(1 << 6);
    /// crosses of test runners, and TAP's `not ok`
    pub(crate) const CROSS: Self = Self(1 << 7);
    /// ticks of test runners
    pub(crate) const TICK: Self = Self(1 << 8);
    /// a file and a line: `:12`, `(12`, `line 12`
    pub(crate) const LOCATION: Self = Self(1 << 9);
    /// exited, exit code
    pub(crate) const EXIT: Self = Self(1 << 10);

    /// All signals that indicate a failure by themselves.
    pub(crate) const ANY_FAILURE: Self = Self(
        Self::ERROR.0
            | Self::FAIL.0
            | Self::FATAL.0
            | Self::EXCEPTION.0
            | Self::WARNING.0
            | Self::ASSERT.0
            | Self::PROBLEM.0
            | Self::CROSS.0,
    );

    /// Number of kinds.
    pub(crate) const COUNT: usize = 11;

    /// One bit for each kind.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Scans a text on its own.
    pub(crate) fn scan(text: &str) -> Self {
        scan(text).signals(0, text.len())
    }
}
