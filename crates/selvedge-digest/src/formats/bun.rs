//! `bun test`: the error of a failed test is printed before its result. Its totals are one line for each kind, and
//! count only if the line `Ran 9 tests across 3 files.` directly below states their sum.

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "bun";
/// How many lines of an error are read.
const ERROR_LINES: u32 = 200;
/// Heads an error that no test caught.
const UNHANDLED: &str = "# Unhandled error between tests";

/// Reads bun's test runner.
#[derive(Debug, Default)]
pub(super) struct BunParser {
    /// Between the line with bun's version and the closing line.
    begun: bool,
    /// The test file of the following results.
    file: String,
    /// An error, until the result below it shows which test it failed.
    error: Option<FailureBuilder>,
    /// Number of lines that were read of it.
    error_lines: u32,
    /// The error is bun's own report, not a test's.
    unhandled: bool,
    /// The failed test that was read last; a timeout is explained below it.
    failed: Option<FailureBuilder>,
    totals: Option<TestTotals>,
}

static RESULT: LinePattern = LinePattern::new(
    r"^(?P<result>\((?:pass|fail|skip|todo)\)|[✓✗»✎]) (?P<id>\S.*?)(?: \[\d[\d.]*m?s\])?$",
);
static TOTAL: LinePattern =
    LinePattern::new(r"^ +(?P<count>\d+) (?P<what>pass|fail|skip|todo|error|errors)$");
static OTHER_TOTAL: LinePattern =
    LinePattern::new(r"^ +\d+ (?:expect\(\) calls|filtered out|snapshots?\b.*)$|^ +snapshots: .*$");
static CLOSING: LinePattern =
    LinePattern::new(r"^Ran (?P<all>\d+) tests? across \d+ files?\. +\[\d[\d.]*m?s\]$");
/// A line of the source above an error.
static SOURCE: LinePattern = LinePattern::new(r"^ *\d+ \| ");

impl FormatParser for BunParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("bun test v") && !findings.runs.is_inner(TOOL) {
            self.close_failed(findings);
            *self = Self {
                begun: true,
                ..Self::default()
            };
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
            return LineClaim::Ignore;
        }
        if !self.begun {
            return LineClaim::NotMine;
        }
        if let Some(closing) = CLOSING.captures_prefixed(text, "Ran ") {
            self.close(closing.count("all"), findings);
            return LineClaim::Evidence;
        }
        if let Some(total) = TOTAL.captures_prefixed(text, " ") {
            let totals = self.totals.get_or_insert_default();
            match &total["what"] {
                // The failures include them.
                "error" | "errors" => {}
                what => totals.add_count(what, total.count("count")),
            }
            return LineClaim::Evidence;
        }
        if self.totals.is_some() && OTHER_TOTAL.is_match(text) {
            return LineClaim::Ignore;
        }
        self.totals = None;
        if let Some(result) = RESULT.captures(text) {
            return self.parse_result(&result, line, findings);
        }
        self.parse_error(line, findings)
    }

    fn is_open(&self) -> bool {
        self.begun
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close_failed(findings);
        *self = Self::default();
    }
}

impl BunParser {
    fn parse_result(
        &mut self,
        result: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        self.close_failed(findings);
        let id = &result["id"];
        let error = self.error.take();
        let outcome = match &result["result"] {
            "(fail)" | "✗" => {
                let mut draft =
                    error.unwrap_or_else(|| FailureBuilder::new(FailureKind::Test, TOOL, line));
                draft.failure.id = Some(id.to_owned());
                draft.skip_line(line);
                self.failed = Some(draft);
                return LineClaim::Evidence;
            }
            "(pass)" | "✓" => TestOutcome::Passed,
            _ => TestOutcome::Skipped,
        };
        // Output of a passed test is not a failure.
        findings.record_test(TOOL, outcome, id);
        LineClaim::Suppress
    }

    /// A line of an error, or of the name of a file.
    fn parse_error(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let (text, body) = (line.text, line.body());
        if let Some(failed) = &mut self.failed {
            if let Some(reason) = body.strip_prefix("^ ").filter(|_| line.indent() == 2) {
                failed.push_message(reason);
                failed.skip_line(line);
                return LineClaim::Evidence;
            }
            self.close_failed(findings);
        }
        if text == UNHANDLED {
            self.unhandled = true;
            return LineClaim::Evidence;
        }
        if self.unhandled && text.starts_with("------") {
            if let Some(mut draft) = self.error.take() {
                if draft.failure.file.is_none() {
                    draft.set_location(&self.file, None, None);
                }
                findings.runs.record_test(TOOL, TestOutcome::Failed, None);
                findings.add(draft.build());
                self.unhandled = false;
            }
            return LineClaim::Evidence;
        }
        if line.indent() == 0 && text.ends_with(':') && !text.contains(' ') && text.contains('.') {
            text.trim_end_matches(':').clone_into(&mut self.file);
            self.error = None;
            return LineClaim::Ignore;
        }
        if SOURCE.is_match(text) {
            let is_next = self
                .error
                .as_ref()
                .is_some_and(|draft| draft.failure.message.is_none());
            if !is_next {
                self.error = Some(FailureBuilder::new(FailureKind::Test, TOOL, line));
            }
        } else if self.error.is_none() && is_error(text) {
            self.error = Some(FailureBuilder::new(FailureKind::Test, TOOL, line));
        }
        if self.error.is_none() {
            self.error_lines = 0;
        }
        let Some(draft) = self
            .error
            .as_mut()
            .filter(|_| self.error_lines < ERROR_LINES)
        else {
            // A run that was aborted ends without a result.
            self.error = None;
            return LineClaim::NotMine;
        };
        self.error_lines += 1;
        let frame = body
            .strip_prefix("at ")
            .and_then(|_| parse_colon_frame(body));
        if let Some(place) = frame {
            if is_foreign(place.file) {
                draft.skip_line(line);
            } else {
                draft.set_location(place.file, place.line, place.column);
                draft.push_excerpt(line);
            }
        } else if draft.failure.message.is_none() && !is_error(text) {
            draft.push_excerpt(line);
        } else {
            draft.push_message(text.strip_prefix("error: ").unwrap_or(text));
            draft.skip_line(line);
        }
        LineClaim::Evidence
    }

    fn close_failed(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.failed.take() {
            findings.add_test(draft);
        }
    }

    /// The closing line: the totals above it count if it states their sum.
    fn close(&mut self, all: u64, findings: &mut Findings) {
        self.close_failed(findings);
        let totals = self.totals.take();
        if let Some(totals) = totals.filter(|totals| totals.total() == all) {
            findings.runs.close(TOOL, totals);
        }
        *self = Self::default();
    }
}

/// `error: message`, or `TypeError: message`.
fn is_error(text: &str) -> bool {
    let class = text
        .split(": ")
        .next()
        .filter(|class| class.len() < text.len());
    class.is_some_and(|class| class == "error" || class.ends_with("Error") && !class.contains(' '))
}
