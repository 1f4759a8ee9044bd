//! Playwright's test runner: `1) [project] › file:line:column › suite › test ───`, the error, the
//! source and the frames below it.

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "playwright";

/// Reads the list, line and dot reporters.
#[derive(Debug, Default)]
pub(super) struct PlaywrightFormat {
    /// The file of the test that failed.
    file: String,
    /// The place is that of a frame, not of the test's beginning.
    placed: bool,
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

static HEADING: LinePattern = LinePattern::new(
    r"^\s+\d+\) (?P<id>(?:\[[^\]]+\] › )?(?P<file>[^ :]+):(?P<line>\d+):(?P<column>\d+) › .*?)(?: ─+)?$",
);
static RESULT: LinePattern = LinePattern::new(
    r"^\s+(?P<mark>✓|-|ok)\s+\d+ (?P<id>(?:\[[^\]]+\] › )?[^ :]+:\d+:\d+ › .*?)(?: \([\d.]+(?:ms|[smhd])\))?$",
);
static TOTAL: LinePattern = LinePattern::new(
    r"^  (?P<count>\d+) (?P<what>passed|failed|skipped|flaky|did not run|interrupted)(?: \([\d.]+(?:ms|[smhd])\))?$",
);

impl BlockFormat for PlaywrightFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        if line.indent() > 0 && line.body().contains(" › ") {
            if let Some(heading) = HEADING.captures(line.text) {
                self.section = PlaywrightSection::Message;
                heading["file"].clone_into(&mut self.file);
                self.placed = false;
                let mut draft = FailureBuilder::test(TOOL, &heading["id"], line);
                draft.locate(&heading);
                return Some(BlockStep::Begin(draft));
            }
            if let Some(result) = RESULT.captures(line.text) {
                findings.add_tool(TOOL);
                let outcome = TestOutcome::unfailed(&result["mark"] == "-");
                findings.record_test(TOOL, outcome, &result["id"]);
                return Some(BlockStep::Claim(LineClaim::Ignore));
            }
        }
        let may_be_total = line.indent() == 2 && findings.has_tool(TOOL);
        let total = may_be_total.then(|| TOTAL.captures(line.text))??;
        let totals = self.totals.get_or_insert_default();
        totals.add_count(&total["what"], total.count("count"));
        Some(BlockStep::End(LineClaim::Evidence))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let body = line.body();
        if body.starts_with("Retry #") {
            self.section = PlaywrightSection::Retry;
        }
        if self.section == PlaywrightSection::Retry || body.starts_with("Error Context: ") {
            return BlockStep::Taken;
        }
        if let Some(place) = parse_colon_frame(body).filter(|_| body.starts_with("at ")) {
            if is_foreign(place.file) {
                return BlockStep::Taken;
            }
            // The line in the test takes precedence over lines in functions it calls.
            let test_file = draft.failure.file.as_deref().filter(|_| self.placed);
            let own = |file: &str| file.ends_with(&self.file);
            if test_file.is_none() || own(place.file) && !test_file.is_some_and(own) {
                draft.replace_location(place.file, place.line, place.column);
                self.placed = true;
            }
        } else if body.starts_with("> ") || body.split_once(" |").is_some_and(|(n, _)| is_number(n))
        {
            self.section = PlaywrightSection::Source;
        }
        if self.section == PlaywrightSection::Message {
            draft.push_message(body);
            BlockStep::Taken
        } else {
            BlockStep::Shown
        }
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
