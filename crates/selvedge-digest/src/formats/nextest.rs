//! cargo-nextest. Each failed test is shown with libtest's output, indented; a summary at the end repeats the
//! status lines.

use std::collections::HashSet;

use super::prelude::*;
use super::rust_test_errors::take_non_panic_message;

const TOOL: &str = "nextest";

/// Reads nextest's human output.
#[derive(Debug, Default)]
pub(super) struct NextestFormat {
    message: bool,
    reported: HashSet<String>,
}

static STATUS: LinePattern = LinePattern::new(
    r"^ +(?:TRY \d+ )?(?P<status>PASS|FAIL|SIG\w+|ABORT|TIMEOUT|SLOW|LEAK|FLAKY|XFAIL|FL\+LK|TMT)(?: \d/\d)? \[ *>?[\d.]+m?s\] (?:\( *\d+/ *\d+\) )?(?P<id>\S.*)$",
);
static SUMMARY: LinePattern = LinePattern::new(
    r"^ +Summary \[.*\] (?:\d+/)?\d+ tests? run: (?P<passed>\d+) passed(?: \([^)]*\))?(?:, (?P<failed>\d+) failed)?(?:, (?P<errors>\d+) exec failed)?(?:, (?P<late>\d+) timed out)?(?:, (?P<skipped>\d+) skipped)?",
);
static PANIC: LinePattern = LinePattern::new(
    r"^\s*thread '.*?' (?:\(\d+\) )?panicked at (?P<file>[^:']+):(?P<line>\d+):(?P<column>\d+):?$",
);

impl BlockFormat for NextestFormat {
    const HEAD_CLAIM: LineClaim = LineClaim::Ignore;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.starts_with("────") || text.starts_with("  Cancelling") {
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if !text.starts_with(' ') || !text.contains(" [") {
            return None;
        }
        if let Some(status) = STATUS.captures(text) {
            findings.add_tool(TOOL);
            let failed = self.parse_status(&status["status"], status["id"].trim(), line, findings);
            return Some(failed.map_or(BlockStep::End(LineClaim::Ignore), BlockStep::Begin));
        }
        let summary = SUMMARY.captures(text)?;
        let mut totals = TestTotals::captured(&summary);
        totals.failed += summary.count("late");
        findings.runs.close(TOOL, totals);
        Some(BlockStep::End(LineClaim::Ignore))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if let Some(panic) = PANIC.captures_marked(line.text, "panicked at") {
            draft.replace_location(&panic["file"], panic.number("line"), panic.number("column"));
            self.message = true;
            return BlockStep::Taken;
        }
        let body = line.text.trim();
        if draft.failure.message.is_none() && take_non_panic_message(draft, body) {
            return BlockStep::Taken;
        }
        if body.starts_with("stack backtrace:") || body.starts_with("note: ") || body.is_empty() {
            self.message = false;
        }
        if self.message {
            draft.push_message(body);
        }
        BlockStep::Taken
    }
}

impl NextestFormat {
    /// Records the status of a test. Returns the failure, the first time that it is reported.
    fn parse_status(
        &mut self,
        status: &str,
        id: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<FailureBuilder> {
        if matches!(status, "PASS" | "LEAK" | "FLAKY") {
            findings.record_test(TOOL, TestOutcome::Passed, id);
        }
        if matches!(status, "PASS" | "LEAK" | "FLAKY" | "SLOW") || self.reported.contains(id) {
            return None;
        }
        if self.reported.len() < 10_000 {
            self.reported.insert(id.to_owned());
        }
        findings.record_test(TOOL, TestOutcome::Failed, id);
        let mut draft = FailureBuilder::test(TOOL, id, line);
        if status == "TIMEOUT" || status == "TMT" {
            draft.failure.kind = FailureKind::Timeout;
            draft.push_message("timed out");
        } else if status.starts_with("SIG") {
            draft.failure.code = Some(status.to_owned());
        }
        self.message = false;
        Some(draft)
    }
}
