//! vitest: `FAIL  file > suite > test`, the error, and frames marked `❯`.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "vitest";

/// Reads the output of vitest's default reporters.
#[derive(Debug, Default)]
pub(super) struct Vitest {
    /// Several tests may fail with one error: their headings stand one below the other.
    drafts: Vec<Draft>,
    file: String,
    /// The file whose tests are listed.
    listed: String,
    heading: bool,
    message: bool,
}

static FAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*FAIL\s{1,2}(?:\|?\S+\|? )??(?P<file>\S+\.[cm]?[jt]sx?)(?: > (?P<test>.+)| \[ .* \])$",
    )
});
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s+Tests\s+(?:\d+ \w+(?: \| )?)+(?: \(\d+\))?$"));
static COUNT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d+) (failed|passed|skipped|todo)"));
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:✓|√|❯|×|↓) (?:\|?\S+\|? )??(?P<file>\S+\.[cm]?[jt]sx?) \(\d+ tests?\b")
});
static RESULT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s+(?P<mark>✓|√|×|↓) (?P<id>.+?)(?:\s+[\d.]+ ?m?s)?$"));

impl Format for Vitest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let head = line.body();
        if head.starts_with("FAIL")
            && let Some(fail) = FAIL.captures(line.text)
        {
            if !self.heading {
                self.close(findings);
            }
            findings.tool(TOOL);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            let file = &fail["file"];
            draft.failure.id = Some(match fail.name("test") {
                Some(test) => format!("{file} > {}", test.as_str()),
                None => file.to_owned(),
            });
            file.clone_into(&mut self.file);
            self.drafts.push(draft);
            self.heading = true;
            self.message = true;
            return Claim::Evidence;
        }
        if head.starts_with("Tests ") && TESTS.is_match(line.text) {
            self.close(findings);
            findings.tool(TOOL);
            let mut totals = Totals::default();
            for count in COUNT.captures_iter(line.text) {
                let number: u64 = count[1].parse().unwrap_or(0);
                match &count[2] {
                    "failed" => totals.failed += number,
                    "passed" => totals.passed += number,
                    _ => totals.skipped += number,
                }
            }
            findings.runs.close(TOOL, totals);
            return Claim::Evidence;
        }
        if head.starts_with('⎯') && is_unhandled(head) {
            // An error outside of all tests: it belongs to no file.
            self.close(findings);
            findings.tool(TOOL);
            self.file.clear();
            self.drafts
                .push(Draft::new(FailureKind::Runtime, TOOL, line));
            self.message = true;
            return Claim::Evidence;
        }
        if !self.drafts.is_empty() {
            self.heading = false;
            return self.body(line, findings);
        }
        if line.text.starts_with(" RUN  v") {
            findings.tool(TOOL);
            findings.runs.begin(TOOL);
        }
        let marked = findings.knows_tool(TOOL) && head.starts_with(['✓', '√', '×', '↓', '❯']);
        if marked && let Some(listed) = LISTED.captures(line.text) {
            listed["file"].clone_into(&mut self.listed);
            return Claim::Noise;
        }
        let Some(result) = marked.then(|| RESULT.captures(line.text)).flatten() else {
            return Claim::Foreign;
        };
        let outcome = match &result["mark"] {
            // It is told again, with its error.
            "×" => return Claim::Noise,
            "↓" => Outcome::Skipped,
            _ => Outcome::Passed,
        };
        let id = &result["id"];
        if self.listed.is_empty() || id.starts_with(self.listed.as_str()) {
            findings.runs.test(TOOL, outcome, Some(id));
        } else {
            let id = format!("{} > {id}", self.listed);
            findings.runs.test(TOOL, outcome, Some(&id));
        }
        Claim::Noise
    }

    fn is_open(&self) -> bool {
        !self.drafts.is_empty()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Vitest {
    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let body = line.body();
        if body.starts_with("⎯⎯⎯") {
            self.close(findings);
            return Claim::Noise;
        }
        let frame = body.strip_prefix("❯ ").and_then(colon_frame);
        if frame.is_some() {
            self.message = false;
        }
        for draft in &mut self.drafts {
            if let Some(place) = frame {
                // The line in the test counts for more than one in what it calls.
                let own =
                    place.file == self.file && draft.failure.file.as_deref() != Some(place.file);
                if own || draft.failure.file.is_none() && !is_foreign(place.file) {
                    draft.place_again(place.file, place.line, place.column);
                }
            }
            if self.message {
                draft.message(line.text);
                draft.skip(line);
            } else {
                draft.excerpt(line);
            }
        }
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        for mut draft in self.drafts.drain(..) {
            if draft.failure.id.is_some() {
                draft.place(&self.file, None, None);
                findings
                    .runs
                    .test(TOOL, Outcome::Failed, draft.failure.id.as_deref());
            }
            findings.add(draft.found());
        }
        self.heading = false;
    }
}

/// Whether a rule heads an error that no test caught.
fn is_unhandled(rule: &str) -> bool {
    let title = rule.trim_matches(['⎯', ' ']);
    matches!(
        title,
        "Uncaught Exception" | "Unhandled Rejection" | "Unhandled Error"
    )
}
