//! Python's doctest: `File "a.py", line 3, in a.f`, the example, and the expected output.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_python_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "doctest";

/// Reads doctest's report.
#[derive(Debug, Default)]
pub(super) struct DoctestParser {
    draft: Option<FailureBuilder>,
    /// A row of stars was read: a failure or a total follows.
    starred: bool,
    /// Below a frame of doctest's own.
    foreign: bool,
    example: DoctestExample,
}

/// A failed example: its expected output, and its actual output or exception.
#[derive(Debug, Default)]
pub(super) struct DoctestExample {
    section: DoctestSection,
    code: String,
    expected: String,
    is_reported: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum DoctestSection {
    #[default]
    Source,
    Example,
    Expected,
    Got,
    Raised,
}

static LOCATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^File "(?P<file>[^"]+)", line (?P<line>\d+|\?), in (?P<id>\S+)$"#));

impl FormatParser for DoctestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("**********") {
            self.close(findings);
            self.starred = true;
            return LineClaim::Ignore;
        }
        if std::mem::take(&mut self.starred)
            && let Some(place) = LOCATION.captures(text)
        {
            findings.add_tool(TOOL);
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(place["id"].to_owned());
            draft.set_location(&place["file"], place["line"].parse().ok(), None);
            self.draft = Some(draft);
            self.example = DoctestExample::default();
            self.foreign = false;
            return LineClaim::Evidence;
        }
        if text.starts_with("***Test Failed***") {
            findings.runs.close_as_seen(TOOL);
            return LineClaim::Evidence;
        }
        self.parse_body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.starred
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl DoctestParser {
    fn parse_body(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let frame = parse_python_frame(line.text)
            .filter(|_| self.example.section == DoctestSection::Raised);
        if let Some(place) = frame {
            self.foreign = is_foreign(place.file);
        }
        self.foreign &= frame.is_some() || line.indent() > 6;
        if self.foreign {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        draft.push_excerpt(line);
        if let Some(message) = self.example.parse_line(line.text) {
            draft.push_message(&message);
        }
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            if draft.failure.message.is_none() {
                draft.push_message(&self.example.code);
            }
            findings.add_test(TOOL, draft);
        }
    }
}

impl DoctestExample {
    /// Reads a line of the report. Returns the message once it is complete.
    pub(super) fn parse_line(&mut self, text: &str) -> Option<String> {
        let body = text.trim();
        let indent = text.len() - text.trim_start().len();
        if let Some(raised) = body.strip_prefix("UNEXPECTED EXCEPTION: ") {
            return self.take_message(raised);
        }
        self.section = match text {
            "Failed example:" => DoctestSection::Example,
            "Expected:" | "Differences (ndiff with -expected +actual):" => DoctestSection::Expected,
            "Got:" => DoctestSection::Got,
            "Exception raised:" => DoctestSection::Raised,
            _ => {
                match self.section {
                    // pytest shows the source; its last example failed.
                    DoctestSection::Source => {
                        if let Some((_, code)) = text.split_once(">>> ") {
                            code.clone_into(&mut self.code);
                        }
                    }
                    DoctestSection::Example if self.code.is_empty() => {
                        body.clone_into(&mut self.code);
                    }
                    DoctestSection::Expected if self.expected.is_empty() => {
                        body.clone_into(&mut self.expected);
                    }
                    DoctestSection::Got => {
                        let message = format!("expected {}, got {body}", self.expected);
                        return self.take_message(&message);
                    }
                    // The last line of the traceback.
                    DoctestSection::Raised if indent == 4 && !body.starts_with("Traceback") => {
                        return self.take_message(body);
                    }
                    _ => {}
                }
                self.section
            }
        };
        None
    }

    fn take_message(&mut self, message: &str) -> Option<String> {
        let told = std::mem::replace(&mut self.is_reported, true);
        (!told).then(|| format!("{}: {message}", self.code))
    }
}
