//! Python's doctest: `File "a.py", line 3, in a.f`, the example, and what it should have printed.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{is_foreign, python_frame};
use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "doctest";

/// Reads doctest's report.
#[derive(Debug, Default)]
pub(super) struct Doctest {
    draft: Option<Draft>,
    /// A row of stars came: a failure or a total follows.
    starred: bool,
    /// Below a frame of doctest's own.
    foreign: bool,
    example: Example,
}

/// An example that failed: what it should have printed, and what it printed or how it ended.
#[derive(Debug, Default)]
pub(super) struct Example {
    part: Part,
    code: String,
    expected: String,
    told: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Source,
    Example,
    Expected,
    Got,
    Raised,
}

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^File "(?P<file>[^"]+)", line (?P<line>\d+|\?), in (?P<id>\S+)$"#));

impl Format for Doctest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.starts_with("**********") {
            self.close(findings);
            self.starred = true;
            return Claim::Noise;
        }
        if std::mem::take(&mut self.starred)
            && let Some(place) = PLACE.captures(text)
        {
            findings.tool(TOOL);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(place["id"].to_owned());
            draft.place(&place["file"], place["line"].parse().ok(), None);
            self.draft = Some(draft);
            self.example = Example::default();
            self.foreign = false;
            return Claim::Evidence;
        }
        if text.starts_with("***Test Failed***") {
            findings.runs.close_as_seen(TOOL);
            return Claim::Evidence;
        }
        self.body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.starred
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Doctest {
    fn body(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let frame = python_frame(line.text).filter(|_| self.example.part == Part::Raised);
        if let Some(place) = frame {
            self.foreign = is_foreign(place.file);
        }
        self.foreign &= frame.is_some() || line.indent() > 6;
        if self.foreign {
            draft.skip(line);
            return Claim::Evidence;
        }
        draft.excerpt(line);
        if let Some(message) = self.example.line(line.text) {
            draft.message(&message);
        }
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            if draft.failure.message.is_none() {
                draft.message(&self.example.code);
            }
            findings.add_test(TOOL, draft);
        }
    }
}

impl Example {
    /// Reads a line of the report; the message, once it is known.
    pub(super) fn line(&mut self, text: &str) -> Option<String> {
        let body = text.trim();
        let indent = text.len() - text.trim_start().len();
        if let Some(raised) = body.strip_prefix("UNEXPECTED EXCEPTION: ") {
            return self.tell(raised);
        }
        self.part = match text {
            "Failed example:" => Part::Example,
            "Expected:" | "Differences (ndiff with -expected +actual):" => Part::Expected,
            "Got:" => Part::Got,
            "Exception raised:" => Part::Raised,
            _ => {
                match self.part {
                    // pytest shows the source, of which the last example failed.
                    Part::Source => {
                        if let Some((_, code)) = text.split_once(">>> ") {
                            code.clone_into(&mut self.code);
                        }
                    }
                    Part::Example if self.code.is_empty() => body.clone_into(&mut self.code),
                    Part::Expected if self.expected.is_empty() => {
                        body.clone_into(&mut self.expected);
                    }
                    Part::Got => {
                        let message = format!("expected {}, got {body}", self.expected);
                        return self.tell(&message);
                    }
                    // The last line of the traceback.
                    Part::Raised if indent == 4 && !body.starts_with("Traceback") => {
                        return self.tell(body);
                    }
                    _ => {}
                }
                self.part
            }
        };
        None
    }

    fn tell(&mut self, message: &str) -> Option<String> {
        let told = std::mem::replace(&mut self.told, true);
        (!told).then(|| format!("{}: {message}", self.code))
    }
}
