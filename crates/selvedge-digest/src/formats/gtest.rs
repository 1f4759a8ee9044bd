//! GoogleTest. Its bracketed marks stand before every result; the assertions that failed stand
//! between a test's `RUN` and its `FAILED`. Under `ctest -V` each line bears the test's number.

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::record::FailureKind;

const TOOL: &str = "gtest";

/// Reads GoogleTest's text.
#[derive(Debug, Default)]
pub(super) struct GoogleTest {
    /// The test that runs, with what it printed; in brief mode its name is told at its end only.
    draft: Option<Draft>,
    /// Whether an assertion failed, so that what follows explains it.
    failing: bool,
    /// How many tests ran, and the totals as far as they were told.
    closing: Option<(u64, Totals)>,
}

impl Format for GoogleTest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = without_number(line.text);
        if let Some((mark, rest)) = mark(text) {
            return self.marked(mark, rest, line, findings);
        }
        self.close_run(findings);
        if let Some(place) = text.strip_suffix(": Failure") {
            self.assertion(place, line);
            return Claim::Evidence;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.failing) else {
            return Claim::Foreign;
        };
        explain(draft, text);
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.closing.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close_run(findings);
        self.crashed(findings);
    }
}

impl GoogleTest {
    fn marked(
        &mut self,
        mark: &str,
        rest: &str,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        let count = || rest.split(' ').next().and_then(|word| word.parse().ok());
        if mark == "==========" {
            if rest.starts_with("Running ") {
                self.crashed(findings);
                findings.tool(TOOL);
                findings.runs.begin(TOOL);
            } else if let Some(ran) = count() {
                self.closing = Some((ran, Totals::default()));
            }
            return Claim::Noise;
        }
        if let Some((_, totals)) = &mut self.closing {
            match mark {
                "PASSED" => totals.passed = count().unwrap_or(0),
                "SKIPPED" => totals.skipped = count().unwrap_or(totals.skipped),
                _ => {}
            }
            return Claim::Noise;
        }
        let id = id_of(rest);
        match mark {
            "RUN" => {
                self.crashed(findings);
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id.to_owned());
                self.draft = Some(draft);
            }
            "OK" => self.passed(Outcome::Passed, id, findings),
            "SKIPPED" => self.passed(Outcome::Skipped, id, findings),
            "FAILED" => {
                let draft = self.draft.take();
                let mut draft = draft.unwrap_or_else(|| Draft::new(FailureKind::Test, TOOL, line));
                draft.failure.id = Some(id.to_owned());
                draft.skip(line);
                self.failing = false;
                findings.tool(TOOL);
                findings.runs.test(TOOL, Outcome::Failed, Some(id));
                findings.add(draft.found());
                return Claim::Evidence;
            }
            _ => {}
        }
        Claim::Noise
    }

    fn passed(&mut self, outcome: Outcome, id: &str, findings: &mut Findings) {
        self.draft = None;
        self.failing = false;
        findings.runs.test(TOOL, outcome, Some(id));
    }

    /// An assertion failed at `file:line`.
    fn assertion(&mut self, place: &str, line: &Line<'_>) {
        let draft = self
            .draft
            .get_or_insert_with(|| Draft::new(FailureKind::Test, TOOL, line));
        self.failing = true;
        if let Some((file, number)) = place.rsplit_once(':') {
            draft.place(file, number.parse().ok(), None);
        }
        draft.excerpt(line);
    }

    /// A test began and never ended: it took the process with it.
    fn crashed(&mut self, findings: &mut Findings) {
        self.failing = false;
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        if let Some(id) = &draft.failure.id {
            findings.runs.test(TOOL, Outcome::Failed, Some(id));
            if draft.failure.message.is_none() {
                draft.message("the test began and did not end");
            }
            findings.add(draft.found());
        }
    }

    /// The closing totals are told; what neither passed nor was skipped failed.
    fn close_run(&mut self, findings: &mut Findings) {
        if let Some((ran, mut totals)) = self.closing.take() {
            totals.failed = ran.saturating_sub(totals.passed + totals.skipped);
            findings.runs.close(TOOL, totals);
        }
    }
}

/// Adds a line to the message; what is indented belongs to the line above it.
fn explain(draft: &mut Draft, text: &str) {
    match &mut draft.failure.message {
        Some(message) if text.starts_with(' ') && message.len() < 400 => {
            message.push(' ');
            message.push_str(text.trim());
        }
        _ => draft.message(text),
    }
}

/// `[  FAILED  ] Cart.Sums (0 ms)` as `FAILED` and what follows.
fn mark(text: &str) -> Option<(&str, &str)> {
    // The marks are padded to ten characters.
    let (mark, rest) = text.strip_prefix('[')?.split_at_checked(10)?;
    Some((mark.trim(), rest.strip_prefix("] ")?))
}

/// The name of the test, without its parameter and its time.
fn id_of(rest: &str) -> &str {
    let end = rest.find([' ', ',']).unwrap_or(rest.len());
    &rest[..end]
}

/// The line without the number that `ctest -V` puts before it.
fn without_number(text: &str) -> &str {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(": ") {
        Some(rest) if digits.len() < text.len() => rest,
        _ => text,
    }
}
