//! uvu: a row of bullets for each suite, the failures below it, and four lines of totals at the end.

use super::location::{parse_colon_frame, take_frame};
use super::prelude::*;

const TOOL: &str = "uvu";

/// Reads uvu's report.
#[derive(Debug, Default)]
pub(super) struct UvuFormat {
    /// The totals so far, and how many of their lines were read.
    totals: [u64; 3],
    lines: usize,
}

static FAIL: LinePattern = LinePattern::new(r#"^   FAIL  (?:(?P<suite>\S.*?)  )?"(?P<name>.+)"$"#);
/// The totals, in their order; the last line has only a duration.
const TOTALS: [&str; 4] = ["  Total: ", "  Passed: ", "  Skipped: ", "  Duration: "];

impl BlockFormat for UvuFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        if let Some(failed) = FAIL.captures_prefixed(line.text, "   FAIL  ") {
            let id = match failed.get("suite") {
                Some(suite) => format!("{suite} > {}", &failed["name"]),
                None => failed["name"].to_owned(),
            };
            return Some(BlockStep::Begin(FailureBuilder::test(TOOL, id, line)));
        }
        self.parse_total(line, findings)
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if !line.is_blank() && line.indent() < 4 {
            return BlockStep::OVER;
        }
        let body = line.body();
        if body.starts_with("at ") {
            return match parse_colon_frame(body) {
                Some(place) => take_frame(draft, place),
                None => BlockStep::Taken,
            };
        }
        draft.push_message(line.text.strip_prefix("    ").unwrap_or(body));
        BlockStep::Taken
    }

    fn is_waiting(&self) -> bool {
        self.lines > 0
    }
}

impl UvuFormat {
    /// A line of the totals. They count if all four follow each other.
    fn parse_total(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let value = line.text.strip_prefix(TOTALS[self.lines]);
        let Some(value) = value.map(str::trim_start) else {
            self.lines = 0;
            return None;
        };
        if self.lines + 1 == TOTALS.len() {
            self.lines = 0;
            let [all, passed, skipped] = self.totals;
            let totals = TestTotals {
                passed,
                // Skipped tests are not among all.
                failed: all.saturating_sub(passed),
                skipped,
            };
            if !value.ends_with('s') || passed > all {
                return None;
            }
            findings.add_tool(TOOL);
            return Some(BlockStep::Totals(TOOL, totals));
        }
        let Ok(count) = value.parse() else {
            self.lines = 0;
            return None;
        };
        self.totals[self.lines] = count;
        self.lines += 1;
        Some(BlockStep::End(LineClaim::Evidence))
    }
}
