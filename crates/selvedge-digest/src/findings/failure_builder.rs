//! A failure that is still being read.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::{FailureSeverity, LocatedFailure};
use crate::line::CleanLine;
use crate::passing_output::TemplateKey;
use crate::pattern::Groups;
use crate::record::{Failure, FailureKind, FailureSource, SUMMARY_CHARS};

/// How many lines of an excerpt are kept from its beginning, and from its end.
const HEAD_LINES: usize = 16;
const TAIL_LINES: usize = 32;
/// Maximum number of non-blank lines in a summary.
const SUMMARY_LINES: usize = 2;
/// Initial capacity of an excerpt.
const USUAL_BYTES: usize = 256;
/// Maximum length of an excerpt line, and of the message, in bytes.
const LINE_BYTES: usize = 400;
const MESSAGE_BYTES: usize = 4000;

/// A failure that is still being read, line by line.
#[derive(Debug)]
pub(crate) struct FailureBuilder {
    /// The tool whose output is read.
    pub(crate) tool: &'static str,
    pub(crate) failure: Failure,
    pub(crate) severity: FailureSeverity,
    heading: Option<TemplateKey>,
    first: u64,
    last: u64,
    head: String,
    head_lines: usize,
    tail: VecDeque<String>,
    cut: bool,
    /// No room for texts: only the parts of the summary are collected.
    terse: bool,
}

impl FailureBuilder {
    /// Starts a failure at this line; the line itself is not part of the excerpt yet.
    pub(crate) fn new(kind: FailureKind, tool: &'static str, line: &CleanLine<'_>) -> Self {
        let mut draft = Self::structured(kind, tool, line.number);
        draft.failure.source = FailureSource::Text;
        draft.terse = !line.capture.texts;
        // A failed test is reported even if it also failed before.
        let compared = line.capture.heading && draft.failure.kind != FailureKind::Test;
        draft.heading = compared.then(|| TemplateKey::of(line.text));
        draft
    }

    /// Starts a failure whose message is in this line.
    pub(crate) fn with_message(
        kind: FailureKind,
        tool: &'static str,
        message: &str,
        line: &CleanLine<'_>,
    ) -> Self {
        let mut draft = Self::new(kind, tool, line);
        draft.push_message(message);
        draft.push_excerpt(line);
        draft
    }

    /// Starts a failed test at this line.
    pub(crate) fn test(tool: &'static str, id: impl Into<String>, line: &CleanLine<'_>) -> Self {
        let mut draft = Self::new(FailureKind::Test, tool, line);
        draft.failure.id = Some(id.into());
        draft
    }

    /// Starts a failure with the groups that were captured of its first line: `file` and the numbers in it,
    /// `severity`, `id`, `code` and `message`.
    pub(crate) fn captured(
        kind: FailureKind,
        tool: &'static str,
        found: &Groups<'_>,
        line: &CleanLine<'_>,
    ) -> Self {
        let mut draft = Self::with_message(kind, tool, found.text("message"), line);
        if found.get("severity").is_some_and(is_mild) {
            draft.severity = FailureSeverity::Warning;
        }
        draft.failure.id = found.get("id").map(str::to_owned);
        draft.failure.code = found.get("code").map(str::to_owned);
        draft.locate(found);
        draft
    }

    /// Starts a failure that a machine format reports in line `number`.
    pub(crate) fn structured(kind: FailureKind, tool: &'static str, number: u64) -> Self {
        let failure = Failure {
            kind,
            tool: Some(tool.to_owned()),
            count: 1,
            source: FailureSource::Structured,
            ..Failure::default()
        };
        Self {
            tool,
            failure,
            severity: FailureSeverity::Error,
            heading: None,
            first: number,
            last: number,
            head: String::new(),
            head_lines: 0,
            tail: VecDeque::new(),
            cut: false,
            terse: false,
        }
    }

    /// Adds a line to the excerpt.
    pub(crate) fn push_excerpt(&mut self, line: &CleanLine<'_>) {
        self.last = line.number;
        self.push_excerpt_text(line.text);
    }

    /// Adds text to the excerpt that is not a line of the log.
    pub(crate) fn push_excerpt_text(&mut self, text: &str) {
        if self.terse && (self.failure.message.is_some() || self.head_lines == SUMMARY_LINES) {
            return;
        }
        let text = clip(text, LINE_BYTES);
        if self.terse && text.trim().is_empty() {
            return;
        }
        if self.head_lines < HEAD_LINES {
            if self.head_lines == 0 {
                self.head.reserve(USUAL_BYTES);
            }
            self.head_lines += 1;
            self.head.push_str(text);
            self.head.push('\n');
            return;
        }
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
            self.cut = true;
        }
        self.tail.push_back(text.to_owned());
    }

    /// The lines of the log that the failure was read from so far.
    pub(crate) fn lines(&self) -> RangeInclusive<u64> {
        self.first..=self.last
    }

    /// Marks a line as part of the failure without adding it to the excerpt.
    pub(crate) fn skip_line(&mut self, line: &CleanLine<'_>) {
        self.last = line.number;
    }

    /// Adds a line to the message.
    pub(crate) fn push_message(&mut self, text: &str) {
        let text = text.trim_end();
        match &mut self.failure.message {
            Some(message) if self.terse && (text.is_empty() || message.contains('\n')) => {}
            Some(message) if message.len() + text.len() < MESSAGE_BYTES => {
                message.push('\n');
                message.push_str(text);
            }
            Some(_) => {}
            None if text.trim().is_empty() => {}
            none => *none = Some(clip(text.trim_start(), MESSAGE_BYTES).to_owned()),
        }
    }

    /// Sets the message if there is none.
    pub(crate) fn default_message(&mut self, text: &str) {
        let message = &mut self.failure.message;
        message.get_or_insert_with(|| text.to_owned());
    }

    /// Continues the message on its last line; false if there is no message yet.
    pub(crate) fn extend_message(&mut self, separator: &str, text: &str) -> bool {
        let Some(message) = &mut self.failure.message else {
            return false;
        };
        if message.len() + text.len() < MESSAGE_BYTES {
            message.push_str(separator);
            message.push_str(text);
        }
        true
    }

    /// Sets the summary, for messages that do not begin with it.
    pub(crate) fn set_summary(&mut self, text: &str) {
        self.failure.summary = summary(text);
    }

    /// Sets the location, unless it is known already.
    pub(crate) fn set_location(&mut self, file: &str, line: Option<u32>, column: Option<u32>) {
        if self.failure.file.is_none() {
            self.replace_location(file, line, column);
        }
    }

    /// Sets the location to the groups `file`, `line` and `column`, or `line2` and `column2`, unless it is known.
    pub(crate) fn locate(&mut self, found: &Groups<'_>) {
        if let Some(file) = found.get("file") {
            let line = found.number("line").or_else(|| found.number("line2"));
            let column = found.number("column").or_else(|| found.number("column2"));
            self.set_location(file, line, column);
        }
    }

    /// Replaces the location by a better one.
    pub(crate) fn replace_location(&mut self, file: &str, line: Option<u32>, column: Option<u32>) {
        self.failure.file = Some(file.to_owned());
        self.failure.line = line;
        self.failure.column = column;
    }

    /// Returns the finished record.
    pub(crate) fn build(mut self) -> LocatedFailure {
        let mut excerpt = self.head;
        if self.cut {
            excerpt.push_str("…\n");
        }
        for line in self.tail {
            excerpt.push_str(&line);
            excerpt.push('\n');
        }
        strip_blank_lines(&mut excerpt);
        let failure = &mut self.failure;
        failure.excerpt = (!excerpt.is_empty()).then_some(excerpt);
        let message = failure
            .message
            .take()
            .map(|message| message.trim_end().to_owned());
        if failure.summary.is_empty() {
            let text = message
                .as_deref()
                .or(failure.excerpt.as_deref())
                .unwrap_or_default();
            failure.summary = summary(text);
        }
        // The summary already contains the whole message.
        failure.message = message.filter(|message| *message != failure.summary);
        LocatedFailure {
            failure: self.failure,
            severity: self.severity,
            lines: self.first..=self.last,
            heading: self.heading,
        }
    }
}

/// Whether a tool's word for a severity is below an error.
fn is_mild(severity: &str) -> bool {
    let head = severity.get(..4).unwrap_or(severity);
    head.eq_ignore_ascii_case("warn") || severity.ends_with("Warning") || severity == "Alert"
}

/// Removes blank lines at the beginning and the end; the indentation of the others stays.
fn strip_blank_lines(text: &mut String) {
    text.truncate(text.trim_end().len());
    let indented = text.len() - text.trim_start().len();
    let start = text[..indented].rfind('\n').map_or(0, |end| end + 1);
    text.drain(..start);
}

/// The first line with content, and the next one if the first only announces it; cut to [`SUMMARY_CHARS`].
fn summary(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let line = match lines.next() {
        Some(next) if announces_next_line(first) => format!("{first} {next}"),
        Some(next) if is_expected_and_actual(first, next) => format!("{first}, {next}"),
        _ => first.to_owned(),
    };
    match line.char_indices().nth(SUMMARY_CHARS) {
        None => line,
        Some(_) => line.chars().take(SUMMARY_CHARS - 1).chain(['…']).collect(),
    }
}

/// Whether a line only announces the next one, such as the bare class of an exception.
fn announces_next_line(line: &str) -> bool {
    let bare = !line.contains([' ', '.']) && !line.eq_ignore_ascii_case("expected:");
    line.ends_with(':') && !bare
}

/// Whether the first line has the expected value, and the next one the actual value.
fn is_expected_and_actual(first: &str, next: &str) -> bool {
    let begins = |line: &str, words: &[&str]| {
        words.iter().any(|word| {
            let head = line.get(..word.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(word))
        })
    };
    begins(first, &["expected:"]) && begins(next, &["actual:", "got:", "received:"])
        || begins(first, &["got:"]) && begins(next, &["expected:"])
}

fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
