//! The error that ends a Node.js program: the place and the line of source, the message, the stack, and Node's version.
//! A test runner prints it in front of the result of a test file that it could not load.

use std::ops::RangeInclusive;

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

/// How many lines lie between the place and the message: the source, a caret, and an empty line.
const HEAD_LINES: u32 = 6;
/// How many lines of an error are read.
const LINES: u32 = 200;

static ERROR: LinePattern = LinePattern::new(
    r"^(?:Uncaught )?(?P<message>(?:[A-Z]\w*)?(?:Error|Exception)\b(?: \[\w+\])?: .+)$",
);

/// A place in a file, with its line and column.
type ErrorPlace = (String, Option<u32>, Option<u32>);

/// An error that ended a program.
#[derive(Debug)]
pub(super) struct NodeError {
    message: String,
    /// In the program's own source, if it is known.
    place: Option<ErrorPlace>,
    /// The numbers of its lines in the log.
    lines: RangeInclusive<u64>,
}

impl NodeError {
    /// Explains a failure by the error. Its lines are not shown again.
    pub(super) fn explain(self, draft: &mut FailureBuilder, findings: &mut Findings) {
        draft.failure.message = Some(self.message);
        if let Some((file, line, column)) = self.place {
            draft.replace_location(&file, line, column);
        }
        findings.mark_reported(self.lines);
    }
}

/// The first line of an error.
#[derive(Debug)]
struct ErrorHead {
    /// Its place, if that is in the program's own source.
    place: Option<ErrorPlace>,
    line_number: u64,
}

/// Reads such errors, line by line.
#[derive(Debug, Default)]
pub(super) struct NodeErrorReader {
    head: Option<ErrorHead>,
    lines: u32,
    error: Option<NodeError>,
}

impl NodeErrorReader {
    /// Reads a line; returns whether it is part of an error.
    pub(super) fn parse_line(&mut self, text: &str, number: u64) -> bool {
        if text.starts_with("Node.js v") {
            let is_end = self.head.take().is_some();
            if let Some(error) = self.error.as_mut().filter(|_| is_end) {
                error.lines = *error.lines.start()..=number;
            }
            return is_end;
        }
        if let Some(head) = parse_head(text, number) {
            (self.head, self.lines, self.error) = (Some(head), 0, None);
            return true;
        }
        self.lines += 1;
        if self.lines > LINES {
            self.head = None;
        }
        let Some(head) = &self.head else {
            return false;
        };
        if let Some(error) = &mut self.error {
            let frame = text.trim_start().strip_prefix("at ");
            let frame = frame.and_then(parse_colon_frame);
            if let Some(frame) = frame.filter(|frame| !is_foreign(frame.file)) {
                let is_first = error.place.is_none();
                let is_same = |(file, line, column): &ErrorPlace| {
                    file == frame.file && *line == frame.line && column.is_none()
                };
                if is_first || error.place.as_ref().is_some_and(is_same) {
                    error.place = Some((frame.file.to_owned(), frame.line, frame.column));
                }
            }
            return true;
        }
        if let Some(error) = ERROR.captures(text) {
            self.error = Some(NodeError {
                message: error["message"].to_owned(),
                place: head.place.clone(),
                lines: head.line_number..=number,
            });
        } else if self.lines == HEAD_LINES {
            self.head = None;
        }
        true
    }

    /// Whether the end of an error has not been read.
    pub(super) fn is_open(&self) -> bool {
        self.head.is_some()
    }

    /// Returns the error that was read since the last result.
    pub(super) fn take(&mut self) -> Option<NodeError> {
        self.head = None;
        self.error.take()
    }
}

fn parse_head(text: &str, line_number: u64) -> Option<ErrorHead> {
    if text.starts_with("node:internal/") && !text.contains(' ') {
        let place = None;
        return Some(ErrorHead { place, line_number });
    }
    let is_whole = text.starts_with(['/', 'f']) || text.get(1..3) == Some(":\\");
    let place = parse_colon_frame(text).filter(|it| is_whole && it.column.is_none())?;
    let file = text.strip_prefix("file://").unwrap_or(text);
    if !file.starts_with(place.file) {
        return None;
    }
    let place = (!is_foreign(place.file)).then(|| (place.file.to_owned(), place.line, None));
    Some(ErrorHead { place, line_number })
}
