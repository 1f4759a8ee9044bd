//! NUnit's console: its numbered list of errors and failures, and the totals before it.

use super::prelude::*;

const TOOL: &str = "nunit";

/// Reads NUnit's report.
#[derive(Debug, Default)]
pub(super) struct NUnitFormat {
    /// The totals, until the tests that they count were read.
    totals: Option<TestTotals>,
}

static HEADING: LinePattern =
    LinePattern::new(r"^\d+\) (?:Test )?(?:Failure|Error|Failed) : (?P<id>\S.*)$");
static TOTALS: LinePattern = LinePattern::new(
    r"^Tests run: (?P<run>\d+), Errors: (?P<errors>\d+), Failures: (?P<failed>\d+), Inconclusive: \d+",
);
static NOT_RUN: LinePattern = LinePattern::new(r"^\s+Not run: (?P<skipped>\d+), Invalid: ");
static FRAME: LinePattern =
    LinePattern::new(r"^\s*at .* in (?P<file>\S+\.\w+):(?:line )?(?P<line>\d+)\s*$");

impl BlockFormat for NUnitFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some(totals) = TOTALS.captures(text) {
            let all = self.totals.get_or_insert_default();
            all.add(TestTotals::captured(&totals));
            findings.add_tool(TOOL);
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        if let Some(heading) = HEADING.captures_marked(text, ") ") {
            return Some(BlockStep::Begin(FailureBuilder::test(
                TOOL,
                &heading["id"],
                line,
            )));
        }
        if let (Some(totals), Some(not_run)) = (&mut self.totals, NOT_RUN.captures(text)) {
            totals.skipped += not_run.count("skipped");
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        None
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.text.starts_with("Tests Not Run:") || line.text.starts_with("Run Settings") {
            return BlockStep::End(LineClaim::Ignore);
        }
        let body = line.body();
        if body.starts_with("at ") {
            // Frames without a place are the runtime's.
            let Some(frame) = FRAME.captures(line.text) else {
                return BlockStep::Taken;
            };
            draft.locate(&frame);
            return BlockStep::Shown;
        }
        let actual = body.strip_prefix("But was:");
        if !actual.is_some_and(|was| draft.extend_message(", but was: ", was.trim()))
            && !body.is_empty()
        {
            draft.push_message(body);
        }
        BlockStep::Taken
    }

    fn is_waiting(&self) -> bool {
        self.totals.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}
