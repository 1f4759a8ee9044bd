//! jasmine: a numbered list of failed specs, each with `Message:` and `Stack:`.

use super::location::{parse_colon_frame, take_frame};
use super::prelude::*;

const TOOL: &str = "jasmine";

/// Reads jasmine's console reporter.
#[derive(Debug, Default)]
pub(super) struct JasmineFormat {
    /// In the message; the stack comes after.
    message: bool,
    /// Errors of suites: they count as failures, but not as specs.
    suites: u64,
}

static TOTALS: LinePattern = LinePattern::new(
    r"^(?P<all>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending specs?)?$",
);

impl BlockFormat for JasmineFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if line.text == "  Message:"
            && let Some((id, spec)) = parse_title(line.heading)
        {
            self.suites += u64::from(!spec);
            self.message = true;
            return Some(BlockStep::Begin(FailureBuilder::test(TOOL, id, line)));
        }
        let found = line
            .text
            .contains(" spec")
            .then(|| TOTALS.captures(line.text))??;
        let mut totals = TestTotals::captured(&found);
        let failed_specs = totals
            .failed
            .saturating_sub(std::mem::take(&mut self.suites));
        totals.passed =
            TestTotals::from_total(found.count("all"), failed_specs, totals.skipped).passed;
        Some(BlockStep::Totals(TOOL, totals))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.indent() == 0 {
            return BlockStep::OVER;
        }
        let body = line.body();
        if line.text == "  Stack:" {
            self.message = false;
        } else if self.message {
            draft.push_message(body);
        } else if let Some(place) = parse_colon_frame(body) {
            return take_frame(draft, place);
        }
        BlockStep::Taken
    }
}

/// Parses `1) cart adds up`, or `Suite error: cart`. Returns the title, and whether it is a spec's.
fn parse_title(heading: &str) -> Option<(&str, bool)> {
    if let Some(suite) = heading.strip_prefix("Suite error: ") {
        return Some((suite, false));
    }
    let (number, title) = heading.split_once(") ")?;
    number.parse::<u32>().is_ok().then_some((title, true))
}
