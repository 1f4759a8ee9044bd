//! GoogleTest. Every result has a bracketed mark; failed assertions are between a test's `RUN` and its
//! `FAILED`. Under `ctest -V` each line begins with the test's number.

use super::prelude::*;

const TOOL: &str = "gtest";

/// Reads GoogleTest's text.
#[derive(Debug, Default)]
pub(super) struct GoogleTestParser {
    /// The running test with its output; brief mode names it only at its end.
    draft: Option<FailureBuilder>,
    /// Whether an assertion failed, so that what follows explains it.
    failing: bool,
    /// Number of executed tests, and the totals read so far.
    closing: Option<(u64, TestTotals)>,
}

impl FormatParser for GoogleTestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = strip_number(line.text);
        if let Some((mark, rest)) = split_mark(text) {
            return self.parse_marked_line(mark, rest, line, findings);
        }
        self.close_run(findings);
        if let Some(place) = text.strip_suffix(": Failure") {
            self.start_assertion(place, line);
            return LineClaim::Evidence;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.failing) else {
            return LineClaim::NotMine;
        };
        explain(draft, text);
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.closing.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close_run(findings);
        self.record_crash(findings);
    }
}

impl GoogleTestParser {
    fn parse_marked_line(
        &mut self,
        mark: &str,
        rest: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let count = || rest.split(' ').next().and_then(|word| word.parse().ok());
        if mark == "==========" {
            if rest.starts_with("Running ") {
                self.record_crash(findings);
                findings.add_tool(TOOL);
                findings.runs.begin(TOOL);
            } else if let Some(ran) = count() {
                self.closing = Some((ran, TestTotals::default()));
            }
            return LineClaim::Ignore;
        }
        if let Some((_, totals)) = &mut self.closing {
            match mark {
                "PASSED" => totals.passed = count().unwrap_or(0),
                "SKIPPED" => totals.skipped = count().unwrap_or(totals.skipped),
                _ => {}
            }
            return LineClaim::Ignore;
        }
        let id = id_of(rest);
        match mark {
            "RUN" => {
                self.record_crash(findings);
                self.draft = Some(FailureBuilder::test(TOOL, id, line));
            }
            "OK" => self.record_passed(TestOutcome::Passed, id, findings),
            "SKIPPED" => self.record_passed(TestOutcome::Skipped, id, findings),
            "FAILED" => {
                let draft = self.draft.take();
                let mut draft =
                    draft.unwrap_or_else(|| FailureBuilder::new(FailureKind::Test, TOOL, line));
                draft.failure.id = Some(id.to_owned());
                draft.skip_line(line);
                self.failing = false;
                findings.add_tool(TOOL);
                findings.record_test(TOOL, TestOutcome::Failed, id);
                findings.add(draft.build());
                return LineClaim::Evidence;
            }
            _ => {}
        }
        LineClaim::Ignore
    }

    fn record_passed(&mut self, outcome: TestOutcome, id: &str, findings: &mut Findings) {
        self.draft = None;
        self.failing = false;
        findings.record_test(TOOL, outcome, id);
    }

    /// Starts a failed assertion at `file:line`.
    fn start_assertion(&mut self, place: &str, line: &CleanLine<'_>) {
        let draft = self
            .draft
            .get_or_insert_with(|| FailureBuilder::new(FailureKind::Test, TOOL, line));
        self.failing = true;
        if let Some((file, number)) = place.rsplit_once(':') {
            draft.set_location(file, number.parse().ok(), None);
        }
        draft.push_excerpt(line);
    }

    /// A test began but never ended: the process crashed.
    fn record_crash(&mut self, findings: &mut Findings) {
        self.failing = false;
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        if let Some(id) = &draft.failure.id {
            findings.record_test(TOOL, TestOutcome::Failed, id);
            if draft.failure.message.is_none() {
                draft.push_message("the test began and did not end");
            }
            findings.add(draft.build());
        }
    }

    /// Records the closing totals; tests that neither passed nor were skipped have failed.
    fn close_run(&mut self, findings: &mut Findings) {
        if let Some((ran, mut totals)) = self.closing.take() {
            totals.failed = ran.saturating_sub(totals.passed + totals.skipped);
            findings.runs.close(TOOL, totals);
        }
    }
}

/// Adds a line to the message; an indented line belongs to the line above it.
fn explain(draft: &mut FailureBuilder, text: &str) {
    match &mut draft.failure.message {
        Some(message) if text.starts_with(' ') && message.len() < 400 => {
            message.push(' ');
            message.push_str(text.trim());
        }
        _ => draft.push_message(text),
    }
}

/// `[  FAILED  ] Cart.Sums (0 ms)` as `FAILED` and what follows.
fn split_mark(text: &str) -> Option<(&str, &str)> {
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
fn strip_number(text: &str) -> &str {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(": ") {
        Some(rest) if digits.len() < text.len() => rest,
        _ => text,
    }
}
