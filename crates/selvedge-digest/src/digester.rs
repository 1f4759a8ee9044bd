//! The entry point of the crate: reads bytes and returns an [`Analysis`].

use std::io;
use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::clean::{CleanPiece, LinePrefixes, LogCleaner, lines};
use crate::fallback::{RecentLine, SalientLines};
use crate::findings::Findings;
use crate::formats::{FormatDispatcher, LineClaim};
use crate::line::{CleanLine, LineSignals};
use crate::noise::{is_about_run, is_own_frame, is_report_notice, is_result_row};
use crate::passing_output::PassingOutput;
use crate::scan::scan;

/// How the command that wrote the log ended. Only this decides between success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandStatus {
    /// It exited with this code.
    Code(i32),
    /// It was ended by a signal.
    Signal(i32),
    /// It reached its timeout and was ended.
    TimedOut,
    /// Unknown; a failure if the log has one, and never a success.
    Unknown,
}

impl CommandStatus {
    /// Whether the command exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Facts that the caller knows about a log. These are only hints: the log itself decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The command line that wrote the log. A log line that ends with it, as shells and many task runners
    /// print it, marks the beginning of the command's output.
    pub command: Option<String>,
}

impl Hints {
    /// Hints for the output of this command line.
    pub fn command(line: impl Into<String>) -> Self {
        Self {
            command: Some(line.into()),
        }
    }
}

/// Reads a log once, in chunks of any size, in bounded memory. Feed it through [`io::Write`].
#[derive(Debug)]
pub struct Digester {
    cleaner: LogCleaner,
    reader: LogReader,
    bytes: u64,
}

impl Digester {
    /// A digester for one log.
    pub fn new(hints: Hints) -> Self {
        let mut digester = Self::with_dispatcher(FormatDispatcher::all());
        digester.reader.salient_lines.set_command(hints.command);
        digester
    }

    /// A digester without formats, which uses general signals only: to measure those separately.
    pub fn without_formats() -> Self {
        Self::with_dispatcher(FormatDispatcher::none())
    }

    /// A digester with only one of [`formats`](crate::formats()): to test that format separately.
    pub fn with_format(name: &str) -> Self {
        Self::with_dispatcher(FormatDispatcher::only(name))
    }

    /// Sets the output of the same command when it last passed: lines that also occur there do not explain a
    /// failure.
    #[must_use]
    pub fn with_passing_output(mut self, passed: PassingOutput) -> Self {
        let passed = Arc::new(passed.finish());
        self.reader.findings.set_passing_output(Arc::clone(&passed));
        self.reader.salient_lines.set_passing_output(passed);
        self
    }

    fn with_dispatcher(formats: FormatDispatcher) -> Self {
        Self {
            cleaner: LogCleaner::default(),
            reader: LogReader::new(formats),
            bytes: 0,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        self.cleaner
            .feed(bytes, &mut |piece| self.reader.read_piece(piece));
    }

    /// Ends the log.
    #[must_use]
    pub fn finish(mut self, exit: CommandStatus) -> Analysis {
        self.cleaner
            .finish(&mut |piece| self.reader.read_piece(piece));
        self.reader.finish(exit, self.bytes)
    }
}

impl io::Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.read(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a whole log that is already in memory.
#[must_use]
pub fn analyse(bytes: &[u8], hints: Hints, exit: CommandStatus) -> Analysis {
    let mut digester = Digester::new(hints);
    digester.read(bytes);
    digester.finish(exit)
}

/// Maximum size of a log that is kept whole, so that it can be shown whole if it fits.
const WHOLE_BYTES: usize = 16 << 10;
/// Maximum length of a line that may be the heading of the lines below it, in bytes.
const HEADING_BYTES: usize = 400;

/// Passes each cleaned line to all readers of lines.
#[derive(Debug)]
struct LogReader {
    prefixes: LinePrefixes,
    /// Number of lines read so far.
    number: u64,
    /// Number of lines that are never shown.
    noise_lines: u64,
    /// The log without those lines, if it is small.
    whole: Option<String>,
    /// The last line without indentation, if it is short enough to be a heading.
    heading: String,
    formats: FormatDispatcher,
    findings: Findings,
    salient_lines: SalientLines,
}

impl LogReader {
    fn new(formats: FormatDispatcher) -> Self {
        Self {
            prefixes: LinePrefixes::default(),
            number: 0,
            noise_lines: 0,
            whole: Some(String::new()),
            heading: String::new(),
            formats,
            findings: Findings::default(),
            salient_lines: SalientLines::default(),
        }
    }

    fn read_piece(&mut self, piece: CleanPiece<'_>) {
        match piece {
            CleanPiece::Text(block) => self.read_block(block),
            CleanPiece::LongLinePart(bytes) => {
                self.formats
                    .parse_fragment(bytes, self.number + 1, &mut self.findings);
            }
        }
    }

    /// Reads a block of whole lines.
    fn read_block(&mut self, block: &str) {
        let first = std::mem::take(&mut self.heading);
        let mut heading = first.as_str();
        let mut found = scan(block);
        let options = self.findings.capture_options();
        self.prefixes.begin_block(block);
        let last = self.salient_lines.begin_block();
        let mut recent = RecentLine::from_kept(&last);
        recent.reserve(block.len() / 32);
        let mut start = 0;
        for raw in lines(block) {
            let trimmed = trim_end(raw);
            let text = self.prefixes.strip(trimmed);
            let end = start + trimmed.len();
            self.number += 1;
            let passed = self.formats.parse_passed_test(text, &mut self.findings);
            let signals = if passed {
                LineSignals::NONE
            } else {
                found.signals(end - text.len(), end)
            };
            let line = CleanLine::new(self.number, text, heading, signals, options);
            let claim = if passed {
                LineClaim::Ignore
            } else {
                self.dispatch_line(&line)
            };
            if claim == LineClaim::Noise {
                self.noise_lines += 1;
            } else {
                self.keep_whole(text);
            }
            self.salient_lines.push_line(&line, claim, &mut recent);
            if line.indent() == 0 && !line.is_blank() {
                heading = Some(text)
                    .filter(|text| text.len() <= HEADING_BYTES)
                    .unwrap_or_default();
            }
            start += raw.len() + 1;
        }
        self.salient_lines.end_block(&recent);
        self.heading = heading.to_owned();
    }

    #[inline]
    fn dispatch_line(&mut self, line: &CleanLine<'_>) -> LineClaim {
        if is_report_notice(line.body()) || is_own_frame(line.body()) {
            return LineClaim::Noise;
        }
        match self.formats.dispatch_line(line, &mut self.findings) {
            LineClaim::NotMine | LineClaim::Ignore
                if is_result_row(line.body()) || is_about_run(line.body()) =>
            {
                LineClaim::Noise
            }
            claim => claim,
        }
    }

    #[inline]
    fn keep_whole(&mut self, text: &str) {
        let Some(whole) = &mut self.whole else { return };
        if whole.len() + text.len() < WHOLE_BYTES {
            whole.push_str(text);
            whole.push('\n');
        } else {
            self.whole = None;
        }
    }

    fn finish(mut self, exit: CommandStatus, bytes: u64) -> Analysis {
        self.formats.finish(&mut self.findings);
        Analysis::new(
            exit,
            bytes,
            self.whole,
            self.noise_lines,
            self.findings.finish(),
            self.salient_lines.finish(),
        )
    }
}

/// Removes the white space at the end, which few lines have.
#[inline]
fn trim_end(text: &str) -> &str {
    match text.as_bytes().last() {
        Some(b'!'..=b'~') => text,
        _ => text.trim_end(),
    }
}
