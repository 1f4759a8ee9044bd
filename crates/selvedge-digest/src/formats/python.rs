//! Python's tracebacks outside of any test runner, of Python 2 and 3: a program that was ended by an
//! exception. Chained exceptions are one failure, described by the last of them.
//!
//! Programs also print tracebacks of exceptions that they handled. A program has ended if the log ends, or if
//! its caller reports an error in the next line; other tracebacks are left to the general signals, so no line
//! is claimed before that is known.

use super::location::{is_foreign, parse_python_frame};
use super::prelude::*;

const TOOL: &str = "python";
const HEADING: &str = "Traceback (most recent call last):";
/// Announcements of a traceback that is chained to the one before.
const CHAINS: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];

/// Signals of the next line if the caller reports that the program failed.
const COMPLAINT: LineSignals = LineSignals::ERROR
    .with(LineSignals::FAIL)
    .with(LineSignals::FATAL)
    .with(LineSignals::EXIT);

/// Section of a traceback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TracebackSection {
    /// Among the frames.
    #[default]
    Frames,
    /// Below the exception; another one may have been raised for it.
    Ended,
    /// A chained exception was announced.
    Chained,
    /// Among the exceptions of a group, which are drawn below it.
    Group,
}

/// Reads tracebacks.
#[derive(Debug, Default)]
pub(super) struct PythonParser {
    draft: Option<FailureBuilder>,
    section: TracebackSection,
}

/// `ValueError: message`, `shop.errors.Closed`, `KeyError: u'linen'`
static EXCEPTION: LinePattern = LinePattern::new(r"^[A-Za-z_][\w.]*(?:: .*)?$");

impl FormatParser for PythonParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if let Some(before) = line.text.strip_suffix(HEADING) {
            self.begin(before, line);
            return LineClaim::NotMine;
        }
        match self.section {
            _ if self.draft.is_none() => {}
            TracebackSection::Frames => self.parse_frame(line),
            _ if line.is_blank() => {}
            TracebackSection::Ended if CHAINS.contains(&line.text) => {
                self.section = TracebackSection::Chained;
                self.push_excerpt(line);
            }
            TracebackSection::Group if line.indent() > 0 && line.body().starts_with(['|', '+']) => {
                self.push_excerpt(line);
            }
            _ if line.signals.intersects(COMPLAINT) => self.close(findings),
            _ => self.draft = None,
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        // Without an exception it may be anything.
        if self.section != TracebackSection::Frames {
            self.close(findings);
        }
    }
}

impl PythonParser {
    /// Starts a traceback; `before` is the text before its heading.
    fn begin(&mut self, before: &str, line: &CleanLine<'_>) {
        if !matches!(before, "" | "  + Exception Group ") {
            return;
        }
        let earlier = self
            .draft
            .take()
            .filter(|_| self.section == TracebackSection::Chained);
        let mut draft =
            earlier.unwrap_or_else(|| FailureBuilder::new(FailureKind::Runtime, TOOL, line));
        draft.failure.message = None;
        draft.push_excerpt(line);
        self.draft = Some(draft);
        self.section = TracebackSection::Frames;
    }

    fn parse_frame(&mut self, line: &CleanLine<'_>) {
        let Some(draft) = &mut self.draft else {
            return;
        };
        let grouped = line.text.strip_prefix("  | ");
        let text = grouped.unwrap_or(line.text);
        if let Some(place) = parse_python_frame(text) {
            if !is_foreign(place.file) {
                draft.replace_location(place.file, place.line, None);
                draft.push_excerpt(line);
            }
        } else if text.starts_with(' ') {
            draft.push_excerpt(line);
        } else if EXCEPTION.is_match(text) {
            draft.push_message(text);
            draft.push_excerpt(line);
            self.section = match grouped {
                Some(_) => TracebackSection::Group,
                None => TracebackSection::Ended,
            };
        } else {
            self.draft = None;
        }
    }

    fn push_excerpt(&mut self, line: &CleanLine<'_>) {
        if let Some(draft) = &mut self.draft {
            draft.push_excerpt(line);
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if self.draft.is_some() {
            findings.add_tool(TOOL);
            findings.add_draft(&mut self.draft);
        }
    }
}
