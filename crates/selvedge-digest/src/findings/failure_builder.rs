//! A failure that is still being read.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::{FailureSeverity, LocatedFailure};
use crate::line::CleanLine;
use crate::passing_output::TemplateKey;
use crate::record::{Failure, FailureKind, FailureSource, SUMMARY_CHARS};

/// How many lines of an excerpt are kept from its beginning, and from its end.
const HEAD_LINES: usize = 16;
const TAIL_LINES: usize = 32;
/// How many lines that are not blank a summary is made of, at most.
const SUMMARY_LINES: usize = 2;
/// Room for an excerpt as most are.
const USUAL_BYTES: usize = 256;
/// The longest line of an excerpt, and the longest message, in bytes.
const LINE_BYTES: usize = 400;
const MESSAGE_BYTES: usize = 4000;

/// A failure that is still being read, line by line.
#[derive(Debug)]
pub(crate) struct FailureBuilder {
    pub(crate) failure: Failure,
    pub(crate) severity: FailureSeverity,
    heading: Option<TemplateKey>,
    first: u64,
    last: u64,
    head: String,
    head_lines: usize,
    tail: VecDeque<String>,
    cut: bool,
    /// There is no room for its texts: only what makes the summary is gathered.
    terse: bool,
}

impl FailureBuilder {
    /// A draft that begins with this line; the line itself is not part of the excerpt yet.
    pub(crate) fn new(kind: FailureKind, tool: &'static str, line: &CleanLine<'_>) -> Self {
        let mut draft = Self::structured(kind, tool, line.number);
        draft.failure.source = FailureSource::Text;
        draft.terse = !line.capture.texts;
        // A test that fails is told even where it failed before.
        let compared = line.capture.heading && draft.failure.kind != FailureKind::Test;
        draft.heading = compared.then(|| TemplateKey::of(line.text));
        draft
    }

    /// A draft of what a machine format tells in line `number`.
    pub(crate) fn structured(kind: FailureKind, tool: &str, number: u64) -> Self {
        let failure = Failure {
            kind,
            tool: Some(tool.to_owned()),
            count: 1,
            source: FailureSource::Structured,
            ..Failure::default()
        };
        Self {
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

    /// Takes a line into the excerpt.
    pub(crate) fn push_excerpt(&mut self, line: &CleanLine<'_>) {
        self.last = line.number;
        self.push_excerpt_text(line.text);
    }

    /// Takes text that is no line of the log into the excerpt.
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

    /// The lines of the log that it was read from so far.
    pub(crate) fn lines(&self) -> RangeInclusive<u64> {
        self.first..=self.last
    }

    /// Takes a line as a part of the failure that nobody needs to read.
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

    /// What it comes to in one line, where the message does not begin with that.
    pub(crate) fn set_summary(&mut self, text: &str) {
        self.failure.summary = summary(text);
    }

    /// Where the failure is, unless that is known already.
    pub(crate) fn set_location(&mut self, file: &str, line: Option<u32>, column: Option<u32>) {
        if self.failure.file.is_none() {
            self.replace_location(file, line, column);
        }
    }

    /// Where the failure is, better known now.
    pub(crate) fn replace_location(&mut self, file: &str, line: Option<u32>, column: Option<u32>) {
        self.failure.file = Some(file.to_owned());
        self.failure.line = line;
        self.failure.column = column;
    }

    /// The finished record.
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
        // A message that the summary holds whole would only be said twice.
        failure.message = message.filter(|message| *message != failure.summary);
        LocatedFailure {
            failure: self.failure,
            severity: self.severity,
            lines: self.first..=self.last,
            heading: self.heading,
        }
    }
}

/// Takes away blank lines before and after the others, whose indentation stays.
fn strip_blank_lines(text: &mut String) {
    text.truncate(text.trim_end().len());
    let indented = text.len() - text.trim_start().len();
    let start = text[..indented].rfind('\n').map_or(0, |end| end + 1);
    text.drain(..start);
}

/// The first line that says something, with the next one where it only announces that; cut to
/// [`SUMMARY_CHARS`].
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

/// Whether a line only says that something follows; the bare class of an exception says more.
fn announces_next_line(line: &str) -> bool {
    let bare = !line.contains([' ', '.']) && !line.eq_ignore_ascii_case("expected:");
    line.ends_with(':') && !bare
}

/// Whether one line tells what was expected, and the next what came instead.
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
