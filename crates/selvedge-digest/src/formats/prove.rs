//! Perl's tests as `prove` shows them: Test::More's explanation of each failure, on standard error, and a
//! summary of the files. The TAP itself, with `-v`, is [read separately](super::tap).

use super::prelude::*;

pub(super) const TOOL: &str = "prove";
/// Maximum number of failures of one subtest that are held until its name is read.
const NESTED: usize = 100;

/// Reads the diagnostics of Test::More and the summary of the harness.
#[derive(Debug, Default)]
pub(super) struct ProveParser {
    draft: Option<FailureBuilder>,
    /// The draft is one of a subtest, whose name comes after it.
    is_nested: bool,
    nested: Vec<FailureBuilder>,
    /// Perl's own last error: message, file and line.
    died: Option<(String, String, Option<u32>)>,
    /// Below the heading of the summary.
    summary: bool,
    /// The file that the summary listed last, if none of its tests failed and it exited with 0.
    unfailed: Option<String>,
    /// Number of tests in the totals of the previous line; they count if the result of the run follows.
    tests: Option<u64>,
    skipped: u64,
    failed: u64,
}

static FAILED: LinePattern = LinePattern::new(
    r"^#   Failed (?:\(TODO\) )?test(?: '(?P<name>.+)')?(?: at (?P<file>\S+) line (?P<line>\d+)\.)?$",
);
static DIED: LinePattern =
    LinePattern::new(r"^(?P<message>\S.*?) at (?P<file>\S+\.(?:t|pl|pm)) line (?P<line>\d+)[.,]");
static FILE: LinePattern = LinePattern::new(
    r"^(?P<file>\S+) +\(Wstat: (?P<status>\d+)\b.*Tests: \d+ Failed: (?P<failed>\d+)\)$",
);
static TOTALS: LinePattern = LinePattern::new(r"^Files=\d+, Tests=(?P<tests>\d+),");
/// The closing line.
const RESULTS: [&str; 3] = ["Result: PASS", "Result: FAIL", "Result: NOTESTS"];
static SKIPPED: LinePattern = LinePattern::new(r"^\s*\(less (?P<skipped>\d+) skipped subtests?:");

impl FormatParser for ProveParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if let Some(failed) = FAILED.captures_prefixed(body, "#   Failed") {
            if body.starts_with("#   Failed (TODO)") {
                // It is expected to fail.
                self.close(findings);
                return LineClaim::Ignore;
            }
            self.record_failure(&failed, line, findings);
            return LineClaim::Evidence;
        }
        if body.starts_with('#') {
            return self.parse_comment(line, findings);
        }
        self.close(findings);
        if let Some(tests) = self.tests.take() {
            if RESULTS.contains(&line.text) {
                self.close_run(tests, findings);
                return LineClaim::Evidence;
            }
            // Another program's totals.
            *self = Self::default();
        }
        if let Some(totals) = TOTALS.captures_prefixed(line.text, "Files=") {
            self.tests = Some(totals.count("tests"));
            self.summary = false;
            return LineClaim::Evidence;
        }
        if line.text == "Test Summary Report" {
            findings.add_tool(TOOL);
            self.summary = true;
            return LineClaim::Ignore;
        }
        if self.summary {
            return self.parse_summary(line, findings);
        }
        if let Some(skipped) = SKIPPED.captures_prefixed(body, "(less ") {
            self.skipped += skipped["skipped"].parse().unwrap_or(0);
            return LineClaim::Ignore;
        }
        if let Some(died) = DIED.captures_marked(line.text, " line ") {
            let place = (died["file"].to_owned(), died["line"].parse().ok());
            self.died = Some((died["message"].to_owned(), place.0, place.1));
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.summary || self.tests.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.name_nested("", findings);
    }
}

impl ProveParser {
    fn record_failure(
        &mut self,
        failed: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        self.close(findings);
        let name = failed.text("name");
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = failed.get("name").map(str::to_owned);
        draft.locate(failed);
        self.is_nested = line.indent() > 0;
        if !self.is_nested && !self.nested.is_empty() {
            // The result of the subtest itself, which failed because of its parts.
            self.name_nested(name, findings);
            return;
        }
        self.draft = Some(draft);
    }

    /// A line of Test::More's below a failure.
    fn parse_comment(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.body().trim_start_matches('#').trim();
        if text.starts_with("Looks like ") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let place = text
            .strip_prefix("at ")
            .and_then(|rest| rest.strip_suffix('.')?.rsplit_once(" line "));
        match place {
            Some((file, number)) if draft.failure.file.is_none() => {
                draft.set_location(file, number.parse().ok(), None);
                draft.skip_line(line);
            }
            _ => {
                draft.push_message(text);
                draft.skip_line(line);
            }
        }
        LineClaim::Evidence
    }

    fn parse_summary(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(file) = FILE.captures(line.text) else {
            // Without a failed test, a file is also listed because of tests that passed unexpectedly.
            if line.text.starts_with("  Parse errors:")
                && let Some(file) = self.unfailed.take()
            {
                self.failed += 1;
                self.record_broken_file(&file, line, findings);
                return LineClaim::Evidence;
            }
            return LineClaim::Ignore;
        };
        self.unfailed = None;
        let failed = file.count("failed");
        if failed > 0 {
            self.failed += failed;
        } else if &file["status"] == "0" {
            self.unfailed = Some(file["file"].to_owned());
        } else {
            self.failed += 1;
            self.record_broken_file(&file["file"], line, findings);
        }
        LineClaim::Evidence
    }

    /// The totals and the result of a run.
    fn close_run(&mut self, tests: u64, findings: &mut Findings) {
        let (failed, skipped) = (self.failed, self.skipped);
        findings.add_tool(TOOL);
        if findings.has_tool("tap") {
            // The TAP was printed, so the passed tests are known.
            findings.runs.close_as_seen(TOOL);
        } else {
            findings
                .runs
                .close(TOOL, TestTotals::from_total(tests, failed, skipped));
        }
        *self = Self::default();
    }

    /// A file that ended early without a failed test.
    fn record_broken_file(&mut self, file: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        let mut draft = FailureBuilder::test(TOOL, file, line);
        if let Some((message, died, number)) = self.died.take_if(|(_, died, _)| died == file) {
            draft.set_location(&died, number, None);
            draft.push_message(&message);
        } else {
            draft.set_location(file, None, None);
            draft.push_message("it ended before its plan was through");
        }
        findings.record_test(TOOL, TestOutcome::Failed, file);
        findings.add(draft.build());
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        if self.is_nested {
            if self.nested.len() < NESTED {
                self.nested.push(draft);
            }
            return;
        }
        record(draft, findings);
    }

    /// Names the subtest of the held failures.
    fn name_nested(&mut self, subtest: &str, findings: &mut Findings) {
        for mut draft in self.nested.drain(..) {
            if let Some(name) = draft.failure.id.take() {
                let name = if subtest.is_empty() {
                    name
                } else {
                    format!("{subtest} > {name}")
                };
                draft.failure.id = Some(name);
            }
            record(draft, findings);
        }
    }
}

fn record(mut draft: FailureBuilder, findings: &mut Findings) {
    draft.default_message("failed");
    findings.add_tool(TOOL);
    findings.add_test(draft);
}
