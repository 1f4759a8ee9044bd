//! vitest: `FAIL  file > suite > test`, the error, and frames marked `❯`.

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "vitest";

/// Reads the output of vitest's default reporters.
#[derive(Debug, Default)]
pub(super) struct VitestParser {
    /// Several tests may fail with one error: their headings follow one another.
    drafts: Vec<FailureBuilder>,
    file: String,
    /// The file whose tests are listed.
    listed: String,
    heading: bool,
    message: bool,
}

// A project's name precedes the file: `|web client| ` without colours, a badge ` web client  ` with them.
static FAIL: LinePattern = LinePattern::new(
    r"^\s*FAIL\s{1,2}(?:\|[^|]+\| | \S[^>]*?  |\S+ )??(?P<file>\S+\.[cm]?[jt]sx?)(?: > (?P<test>.+)| \[ .* \])$",
);
static TESTS: LinePattern = LinePattern::new(r"^\s+Tests\s+(?:\d+ \w+(?: \| )?)+(?: \(\d+\))?$");
static LISTED: LinePattern = LinePattern::new(
    r"^\s*(?:✓|√|❯|×|↓) (?:\|[^|]+\| | \S[^>]*?  |\S+ )??(?P<file>\S+\.[cm]?[jt]sx?) \(\d+ tests?\b",
);
/// The id of a test behind the name of its project.
static IN_PROJECT: LinePattern =
    LinePattern::new(r"^(?:\|[^|]+\| | \S[^>]*?  )(?P<id>\S+\.[cm]?[jt]sx? > .+)$");
static RESULT: LinePattern =
    LinePattern::new(r"^\s+(?P<mark>✓|√|×|↓) (?P<id>.+?)(?:\s+[\d.]+ ?m?s)?$");

impl FormatParser for VitestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let head = line.body();
        if head.starts_with("FAIL")
            && let Some(fail) = FAIL.captures(line.text)
        {
            if !self.heading {
                self.close(findings);
            }
            findings.add_tool(TOOL);
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            let file = &fail["file"];
            draft.failure.id = Some(match fail.get("test") {
                Some(test) => format!("{file} > {test}"),
                None => file.to_owned(),
            });
            file.clone_into(&mut self.file);
            self.drafts.push(draft);
            self.heading = true;
            self.message = true;
            return LineClaim::Evidence;
        }
        if head.starts_with("Tests ") && TESTS.is_match(line.text) {
            self.close(findings);
            findings.close_run(TOOL, TestTotals::listed(line.text));
            return LineClaim::Evidence;
        }
        if head.starts_with('⎯') && is_unhandled(head) {
            // An error outside of all tests: it belongs to no file.
            self.close(findings);
            findings.add_tool(TOOL);
            self.file.clear();
            self.drafts
                .push(FailureBuilder::new(FailureKind::Runtime, TOOL, line));
            self.message = true;
            return LineClaim::Evidence;
        }
        if !self.drafts.is_empty() {
            self.heading = false;
            return self.parse_body(line, findings);
        }
        if line.text.starts_with(" RUN  v") {
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
        }
        let marked = findings.has_tool(TOOL) && head.starts_with(['✓', '√', '×', '↓', '❯']);
        if marked && let Some(listed) = LISTED.captures(line.text) {
            listed["file"].clone_into(&mut self.listed);
            return LineClaim::Ignore;
        }
        let Some(result) = marked.then(|| RESULT.captures(line.text)).flatten() else {
            return LineClaim::NotMine;
        };
        let outcome = match &result["mark"] {
            // It is repeated with its error.
            "×" => return LineClaim::Ignore,
            "↓" => TestOutcome::Skipped,
            _ => TestOutcome::Passed,
        };
        let id = &result["id"];
        let in_project = IN_PROJECT.captures(id);
        let id = in_project.as_ref().map_or(id, |named| named.text("id"));
        if self.listed.is_empty() || id.starts_with(self.listed.as_str()) {
            findings.record_test(TOOL, outcome, id);
        } else {
            let id = format!("{} > {id}", self.listed);
            findings.record_test(TOOL, outcome, &id);
        }
        LineClaim::Ignore
    }

    fn is_open(&self) -> bool {
        !self.drafts.is_empty()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl VitestParser {
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if body.starts_with("⎯⎯⎯") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        let frame = body.strip_prefix("❯ ").and_then(parse_colon_frame);
        if frame.is_some() {
            self.message = false;
        }
        for draft in &mut self.drafts {
            if let Some(place) = frame {
                // The line in the test takes precedence over lines in functions it calls.
                let own =
                    place.file == self.file && draft.failure.file.as_deref() != Some(place.file);
                if own || draft.failure.file.is_none() && !is_foreign(place.file) {
                    draft.replace_location(place.file, place.line, place.column);
                }
            }
            if self.message {
                draft.push_message(line.text);
                draft.skip_line(line);
            } else {
                draft.push_excerpt(line);
            }
        }
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        for mut draft in self.drafts.drain(..) {
            if draft.failure.id.is_some() {
                draft.set_location(&self.file, None, None);
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Failed, draft.failure.id.as_deref());
            }
            findings.add(draft.build());
        }
        self.heading = false;
    }
}

/// Whether a ruler is the heading of an error that no test caught.
fn is_unhandled(rule: &str) -> bool {
    let title = rule.trim_matches(['⎯', ' ']);
    matches!(
        title,
        "Uncaught Exception" | "Unhandled Rejection" | "Unhandled Error"
    )
}
