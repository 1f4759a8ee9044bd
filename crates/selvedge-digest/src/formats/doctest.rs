//! Python's doctest: `File "a.py", line 3, in a.f`, the example, and the expected output.

use super::location::{is_foreign, parse_python_frame};
use super::prelude::*;

const TOOL: &str = "doctest";

/// Reads doctest's report.
#[derive(Debug, Default)]
pub(super) struct DoctestFormat {
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

static LOCATION: LinePattern =
    LinePattern::new(r#"^File "(?P<file>[^"]+)", line (?P<line>\d+|\?), in (?P<id>\S+)$"#);

impl BlockFormat for DoctestFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.starts_with("**********") {
            self.starred = true;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if std::mem::take(&mut self.starred)
            && let Some(place) = LOCATION.captures(text)
        {
            let mut draft = FailureBuilder::test(TOOL, &place["id"], line);
            draft.locate(&place);
            (self.example, self.foreign) = (DoctestExample::default(), false);
            return Some(BlockStep::Begin(draft));
        }
        text.starts_with("***Test Failed***").then(|| {
            findings.runs.close_as_seen(TOOL);
            BlockStep::Taken
        })
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let frame = parse_python_frame(line.text)
            .filter(|_| self.example.section == DoctestSection::Raised);
        if let Some(place) = frame {
            self.foreign = is_foreign(place.file);
        }
        self.foreign &= frame.is_some() || line.indent() > 6;
        if self.foreign {
            return BlockStep::Taken;
        }
        if let Some(message) = self.example.parse_line(line.text) {
            draft.push_message(&message);
        }
        BlockStep::Shown
    }

    fn complete(&mut self, mut draft: FailureBuilder) -> Option<FailureBuilder> {
        if draft.failure.message.is_none() {
            draft.push_message(&self.example.code);
        }
        Some(draft)
    }

    fn is_waiting(&self) -> bool {
        self.starred
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
        let was_reported = std::mem::replace(&mut self.is_reported, true);
        (!was_reported).then(|| format!("{}: {message}", self.code))
    }
}
