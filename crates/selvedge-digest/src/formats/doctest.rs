//! Python's doctest: `File "a.py", line 3, in a.f`, the example, and what it should have printed.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
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
    part: Part,
    /// What the example should have printed, what it printed, or how it ended.
    example: String,
    expected: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
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
            self.part = Part::Example;
            self.example.clear();
            self.expected.clear();
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
        draft.excerpt(line);
        let body = line.body();
        self.part = match line.text {
            "Failed example:" => Part::Example,
            "Expected:" | "Differences (ndiff with -expected +actual):" => Part::Expected,
            "Got:" => Part::Got,
            "Exception raised:" => Part::Raised,
            _ => {
                match self.part {
                    Part::Example if self.example.is_empty() => body.clone_into(&mut self.example),
                    Part::Expected if self.expected.is_empty() => {
                        body.clone_into(&mut self.expected);
                    }
                    Part::Got if draft.failure.message.is_none() => draft.message(&format!(
                        "{}: expected {}, got {body}",
                        self.example, self.expected
                    )),
                    // The last line of the traceback.
                    Part::Raised if line.indent() == 4 && !body.starts_with("Traceback") => {
                        draft.message(&format!("{}: {body}", self.example));
                    }
                    _ => {}
                }
                self.part
            }
        };
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            if draft.failure.message.is_none() {
                draft.message(&self.example);
            }
            let id = draft.failure.id.as_deref();
            findings.runs.test(TOOL, Outcome::Failed, id);
            findings.add(draft.found());
        }
    }
}
