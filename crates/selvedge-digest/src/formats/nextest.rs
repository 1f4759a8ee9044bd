//! cargo-nextest. Each failed test is shown with libtest's output, indented; a summary at the end repeats the
//! status lines.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::rust_test_errors::take_non_panic_message;
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "nextest";

/// Reads nextest's human output.
#[derive(Debug, Default)]
pub(super) struct NextestParser {
    draft: Option<FailureBuilder>,
    message: bool,
    reported: HashSet<String>,
}

static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ +(?:TRY \d+ )?(?P<status>PASS|FAIL|SIG\w+|ABORT|TIMEOUT|SLOW|LEAK|FLAKY|XFAIL|FL\+LK|TMT)(?: \d/\d)? \[ *>?[\d.]+m?s\] (?:\( *\d+/ *\d+\) )?(?P<id>\S.*)$",
    )
});
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ +Summary \[.*\] (?:\d+/)?\d+ tests? run: (?P<passed>\d+) passed(?: \([^)]*\))?(?:, (?P<failed>\d+) failed)?(?:, (?P<broken>\d+) exec failed)?(?:, (?P<late>\d+) timed out)?(?:, (?P<skipped>\d+) skipped)?",
    )
});
static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*thread '.*?' (?:\(\d+\) )?panicked at (?P<file>[^:']+):(?P<line>\d+):(?P<column>\d+):?$",
    )
});

impl FormatParser for NextestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let bracket = line.text.starts_with(' ') && line.text.contains(" [");
        if bracket && let Some(status) = STATUS.captures(line.text) {
            self.close(findings);
            findings.add_tool(TOOL);
            self.parse_status(&status["status"], status["id"].trim(), line, findings);
            return LineClaim::Ignore;
        }
        if bracket && let Some(summary) = SUMMARY.captures(line.text) {
            self.close(findings);
            let number = |name| -> u64 {
                summary
                    .name(name)
                    .and_then(|number| number.as_str().parse().ok())
                    .unwrap_or(0)
            };
            let totals = TestTotals {
                passed: number("passed"),
                failed: number("failed") + number("broken") + number("late"),
                skipped: number("skipped"),
            };
            findings.runs.close(TOOL, totals);
            return LineClaim::Ignore;
        }
        self.parse_output(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl NextestParser {
    fn parse_status(
        &mut self,
        status: &str,
        id: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        match status {
            "PASS" | "LEAK" | "FLAKY" => {
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Passed, Some(id));
            }
            "SLOW" => {}
            _ if self.reported.contains(id) => {}
            _ => {
                if self.reported.len() < 10_000 {
                    self.reported.insert(id.to_owned());
                }
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Failed, Some(id));
                let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id.to_owned());
                if status == "TIMEOUT" || status == "TMT" {
                    draft.failure.kind = FailureKind::Timeout;
                    draft.push_message("timed out");
                } else if status.starts_with("SIG") {
                    draft.failure.code = Some(status.to_owned());
                }
                self.draft = Some(draft);
                self.message = false;
            }
        }
    }

    fn parse_output(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("────") || text.starts_with("  Cancelling") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if text.contains("panicked at")
            && let Some(panic) = PANIC.captures(text)
        {
            draft.replace_location(
                &panic["file"],
                panic["line"].parse().ok(),
                panic["column"].parse().ok(),
            );
            self.message = true;
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        let body = text.trim();
        if draft.failure.message.is_none() && take_non_panic_message(draft, body) {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if body.starts_with("stack backtrace:") || body.starts_with("note: ") || body.is_empty() {
            self.message = false;
        }
        if self.message {
            draft.push_message(body);
        }
        draft.skip_line(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}
