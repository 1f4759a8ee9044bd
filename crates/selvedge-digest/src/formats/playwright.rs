//! Playwright's test runner: `1) [project] › file:line:column › suite › test ───`, the error, the
//! source and the frames below it.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "playwright";

/// Reads the list, line and dot reporters.
#[derive(Debug, Default)]
pub(super) struct PlaywrightParser {
    draft: Option<FailureBuilder>,
    /// The file of the test that failed, and where the test begins in it.
    begins: (String, Option<u32>, Option<u32>),
    section: PlaywrightSection,
    totals: Option<TestTotals>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum PlaywrightSection {
    #[default]
    Message,
    Source,
    /// A retry of the same test.
    Retry,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+\d+\) (?P<id>(?:\[[^\]]+\] › )?(?P<file>[^ :]+):(?P<line>\d+):(?P<column>\d+) › .*?)(?: ─+)?$",
    )
});
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+(?P<mark>✓|-|ok)\s+\d+ (?P<id>(?:\[[^\]]+\] › )?[^ :]+:\d+:\d+ › .*?)(?: \([\d.]+(?:ms|[smhd])\))?$",
    )
});
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^  (?P<count>\d+) (?P<what>passed|failed|skipped|flaky|did not run|interrupted)(?: \([\d.]+(?:ms|[smhd])\))?$",
    )
});

impl FormatParser for PlaywrightParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if line.indent() > 0 && body.contains(" › ") {
            if let Some(heading) = HEADING.captures(line.text) {
                self.close(findings);
                self.start_failure(&heading, line, findings);
                return LineClaim::Evidence;
            }
            if let Some(result) = RESULT.captures(line.text) {
                findings.add_tool(TOOL);
                let outcome = if &result["mark"] == "-" {
                    TestOutcome::Skipped
                } else {
                    TestOutcome::Passed
                };
                findings
                    .runs
                    .record_test(TOOL, outcome, Some(&result["id"]));
                return LineClaim::Ignore;
            }
        }
        if line.indent() == 2
            && findings.has_tool(TOOL)
            && let Some(total) = TOTAL.captures(line.text)
        {
            self.close(findings);
            self.record_total(&total["what"], total["count"].parse().unwrap_or(0));
            return LineClaim::Evidence;
        }
        self.parse_body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl PlaywrightParser {
    fn start_failure(
        &mut self,
        heading: &regex::Captures<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(heading["id"].to_owned());
        self.begins = (
            heading["file"].to_owned(),
            heading["line"].parse().ok(),
            heading["column"].parse().ok(),
        );
        self.draft = Some(draft);
        self.section = PlaywrightSection::Message;
    }

    fn parse_body(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        if body.starts_with("Retry #") {
            self.section = PlaywrightSection::Retry;
        }
        if self.section == PlaywrightSection::Retry || body.starts_with("Error Context: ") {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if let Some(place) = parse_colon_frame(body).filter(|_| body.starts_with("at ")) {
            if is_foreign(place.file) {
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
            // The line in the test takes precedence over lines in functions it calls.
            let known = draft.failure.file.as_deref();
            let own = |file: &str| file.ends_with(&self.begins.0);
            if known.is_none() || own(place.file) && !known.is_some_and(own) {
                draft.replace_location(place.file, place.line, place.column);
            }
        } else if body.starts_with("> ") || body.split_once(" |").is_some_and(|(n, _)| is_number(n))
        {
            self.section = PlaywrightSection::Source;
        }
        if self.section == PlaywrightSection::Message {
            draft.push_message(body);
            draft.skip_line(line);
        } else {
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    fn record_total(&mut self, what: &str, count: u64) {
        let totals = self.totals.get_or_insert_default();
        match what {
            "passed" | "flaky" => totals.passed += count,
            "failed" | "interrupted" => totals.failed += count,
            _ => totals.skipped += count,
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        let (file, line, column) = &self.begins;
        draft.set_location(file, *line, *column);
        findings.add_test(TOOL, draft);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
