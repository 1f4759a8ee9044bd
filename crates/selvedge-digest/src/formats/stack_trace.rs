//! The text of a failed test in a machine-readable report: a message, then a stack trace.
//!
//! The user's own frames are kept, and the place is the one a person would open first: in the test
//! itself for JavaScript and the JVM, the last one of the user's own for Python.

use super::location::{CodeLocation, extension, is_foreign, parse_colon_frame, parse_python_frame};
use super::prelude::*;
use super::rust_test_errors::parse_missing_panic_location;
use crate::clean::strip_escapes;

/// pytest's `a.py:3: AssertionError` and `a.py:3: in f`.
static PYTEST: LinePattern =
    LinePattern::new(r"^(?P<file>[^\s:][^:]*\.pyx?):(?P<line>\d+):(?: |$)");
/// Rust's `thread 'x' panicked at src/a.rs:3:7:`
static PANIC: LinePattern =
    LinePattern::new(r"panicked at (?P<file>[^:']+?):(?P<line>\d+):(?P<column>\d+):?$");

/// Extracts message, frames and place from `text`. `test_file` is the file of the test, if known.
pub(super) fn parse_trace(draft: &mut FailureBuilder, text: &str, test_file: Option<&str>) {
    let clean = strip_escapes(text);
    let mut trace = TraceReader {
        // A message from a separate field is not read again.
        has_message: draft.failure.message.is_some(),
        pytest: clean.contains("\nE   "),
        stack: false,
        foreign: false,
        has_test_location: false,
    };
    for line in clean.lines() {
        if let Some(panic) = parse_panic_location(line) {
            draft.set_location(panic.file, panic.line, panic.column);
        } else if let Some(place) = parse_missing_panic_location(line) {
            draft.set_location(place.file, place.line, place.column);
            trace.parse_line(draft, line);
        } else if let Some(frame) = parse_frame(line) {
            trace.handle_frame(draft, line, frame, test_file);
        } else if !is_filler(line) {
            trace.parse_line(draft, line);
        }
    }
}

/// State of the trace so far.
#[derive(Debug)]
struct TraceReader {
    /// The message is known.
    has_message: bool,
    /// pytest's lines of the message are marked; the others are source.
    pytest: bool,
    /// Below the first frame.
    stack: bool,
    /// In a frame of Python's that is not the user's own, with its source.
    foreign: bool,
    /// A place in the file of the test was found.
    has_test_location: bool,
}

impl TraceReader {
    fn parse_line(&mut self, draft: &mut FailureBuilder, line: &str) {
        self.stack |= line == "stack backtrace:";
        self.foreign &= !line.starts_with("_ _ _") && !line.starts_with("E  ");
        if self.foreign || line.starts_with("_ _ _") || self.stack && is_numbered(line) {
            return;
        }
        let marked = line
            .strip_prefix("E  ")
            .filter(|_| self.pytest && !self.has_message);
        if let Some(message) = marked {
            draft.push_message(message.trim_start());
        }
        if self.has_message || self.stack || self.pytest {
            draft.push_excerpt_text(line);
        } else {
            draft.push_message(line);
        }
    }

    fn handle_frame(
        &mut self,
        draft: &mut FailureBuilder,
        line: &str,
        frame: CodeLocation<'_>,
        test_file: Option<&str>,
    ) {
        self.stack = true;
        self.foreign = false;
        let python = matches!(extension(frame.file), "py" | "pyx");
        if is_foreign(frame.file) || is_foreign_class(line, draft) {
            self.foreign = python;
            return;
        }
        draft.push_excerpt_text(line);
        let own = test_file.is_some_and(|file| is_same_file(file, frame.file));
        if python || draft.failure.file.is_none() || own && !self.has_test_location {
            draft.replace_location(frame.file, frame.line, frame.column);
            self.has_test_location |= own;
        }
    }
}

/// Whether a line has no information about the failure.
fn is_filler(line: &str) -> bool {
    line.trim() == "● Test suite failed to run" || line.starts_with("note: run with `RUST_")
}

fn parse_frame(line: &str) -> Option<CodeLocation<'_>> {
    let body = line.trim_start();
    if body.starts_with("at ") || body.starts_with("❯ ") || body.starts_with("# ") {
        return parse_colon_frame(body);
    }
    let found = PYTEST.captures_marked(line, ".py");
    let Some(found) = found else {
        return parse_python_frame(line);
    };
    CodeLocation::captured(&found)
}

fn parse_panic_location(line: &str) -> Option<CodeLocation<'_>> {
    let candidate = line.contains("panicked at ");
    let found = candidate.then(|| PANIC.captures(line)).flatten()?;
    CodeLocation::captured(&found)
}

/// The function of a frame in Rust's backtrace, above its place: `   4: shop::total`.
fn is_numbered(line: &str) -> bool {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with(": ") && line.starts_with(' ')
}

/// Whether a frame of the JVM, `at a.b.C.method(C.java:3)`, is not in the class of the test.
fn is_foreign_class(line: &str, draft: &FailureBuilder) -> bool {
    let method = line
        .trim_start()
        .strip_prefix("at ")
        .and_then(|frame| frame.split_once('('));
    let Some((method, place)) = method else {
        return false;
    };
    if !["java", "kt", "scala", "groovy"]
        .contains(&extension(place.split(':').next().unwrap_or("")))
    {
        return false;
    }
    let class = method.rsplit_once('.').map_or(method, |(class, _)| class);
    let class = class.rsplit('/').next().unwrap_or(class);
    let class = class.split('$').next().unwrap_or(class);
    let id = draft.failure.id.as_deref().unwrap_or_default();
    !id.contains(class)
}

fn is_same_file(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_start_matches("./"), b.trim_start_matches("./"));
    a.ends_with(b) || b.ends_with(a)
}
