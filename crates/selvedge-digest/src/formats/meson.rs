//! `meson test`: a numbered row for each result, and totals that must agree with the number of tests in the rows.

use super::prelude::*;
use super::program_error::ProgramErrorReader;

const TOOL: &str = "meson";
/// How many lines of a failed test's output are taken.
const OUTPUT_LINES: u32 = 30;

/// Reads meson's rows and totals.
#[derive(Debug, Default)]
pub(super) struct MesonFormat {
    /// A line of meson or ninja was read: `1/2 assets OK` may be any program's.
    is_known: bool,
    /// Number of tests, as every row states; 0 outside of a run.
    all: u64,
    totals: Option<TestTotals>,
    /// Within the list that repeats the failed tests.
    listed: bool,
    lines: u32,
    error: ProgramErrorReader,
}

static RESULT: LinePattern = LinePattern::new(
    r"^ *(?P<number>\d+)/(?P<all>\d+) (?P<id>\S.*?) +(?P<result>OK|FAIL|SKIP|EXPECTEDFAIL|UNEXPECTEDPASS|TIMEOUT|ERROR|INTERRUPT|RUNNING)(?: +\d+\.\d+s(?: +(?P<how>\S.*))?)?$",
);
static TOTAL: LinePattern = LinePattern::new(
    r"^(?P<what>Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(?P<count>\d+)$",
);

impl BlockFormat for MesonFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.starts_with("ninja: ") || text == "The Meson build system" {
            self.is_known = true;
            return None;
        }
        if self.is_known
            && line.body().starts_with(|c: char| c.is_ascii_digit())
            && let Some(result) = RESULT.captures_marked(text, "/")
        {
            return Some(self.parse_result(&result, line, findings));
        }
        if self.all == 0 {
            return None;
        }
        if let Some(total) = TOTAL.captures_marked(text, ": ") {
            self.add_total(&total["what"], total.count("count"));
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        if text == "Summary of Failures:" {
            self.listed = true;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if text.starts_with("Full log written to ") {
            let Self { all, totals, .. } = std::mem::take(self);
            let totals = totals.filter(|totals| totals.total() == all);
            return totals.map(|totals| BlockStep::Totals(TOOL, totals));
        }
        None
    }

    /// Collects the output of a failed test.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.text.starts_with(">>> ") || line.text.starts_with("――") {
            return BlockStep::Taken;
        }
        if self.lines == OUTPUT_LINES {
            return BlockStep::End(LineClaim::Ignore);
        }
        self.lines += 1;
        self.error.parse_line(draft, line.text);
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.all > 0
    }

    fn finish(&mut self, _: &mut Findings) {
        *self = Self::default();
    }
}

impl MesonFormat {
    fn parse_result(
        &mut self,
        result: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> BlockStep {
        let all = result.count("all");
        if self.listed || self.all != 0 && self.all != all || all < result.count("number") {
            return BlockStep::Claim(LineClaim::NotMine);
        }
        if self.all == 0 {
            self.all = all;
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
        }
        // `unit - shop:cart`: the suites come first.
        let id = &result["id"];
        let id = id.split_once(" - ").map_or(id, |(_, id)| id);
        let (outcome, how) = match &result["result"] {
            "OK" | "EXPECTEDFAIL" => (TestOutcome::Passed, ""),
            "SKIP" => (TestOutcome::Skipped, ""),
            "RUNNING" => return BlockStep::End(LineClaim::Ignore),
            "UNEXPECTEDPASS" => (TestOutcome::Failed, "passed, but was expected to fail"),
            "TIMEOUT" => (TestOutcome::Failed, "timed out"),
            "INTERRUPT" => (TestOutcome::Failed, "was interrupted"),
            "ERROR" => (TestOutcome::Failed, "error"),
            _ => (TestOutcome::Failed, "failed"),
        };
        if outcome != TestOutcome::Failed {
            findings.record_test(TOOL, outcome, id);
            return BlockStep::End(LineClaim::Suppress);
        }
        (self.lines, self.error) = (0, ProgramErrorReader::default());
        let mut draft = FailureBuilder::test(TOOL, id, line);
        draft.push_message(result.get("how").unwrap_or(how));
        BlockStep::Begin(draft)
    }

    fn add_total(&mut self, what: &str, count: u64) {
        let totals = self.totals.get_or_insert_default();
        let slot = match what {
            "Ok" | "Expected Fail" => &mut totals.passed,
            "Skipped" => &mut totals.skipped,
            _ => &mut totals.failed,
        };
        *slot = slot.saturating_add(count);
    }
}
