//! Hspec. A failure is numbered like those of other runners, but its place is above its number.

use super::prelude::*;

const TOOL: &str = "hspec";

/// Reads Hspec's list of failures and its totals.
#[derive(Debug, Default)]
pub(super) struct HspecFormat {
    /// The place above a number.
    place: Option<(String, Option<u32>, Option<u32>)>,
}

static LOCATION: LinePattern =
    LinePattern::new(r"^  (?P<file>[^\s:]+\.l?hs):(?P<line>\d+):(?P<column>\d+):$");
static HEADING: LinePattern = LinePattern::new(r"^  \d+\) (?P<id>\S.*)$");
static TOTALS: LinePattern = LinePattern::new(
    r"^(?P<all>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?$",
);

impl BlockFormat for HspecFormat {
    const IS_TEST: bool = true;
    const IS_CERTAIN: bool = false;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some((file, number, column)) = self.place.take()
            && let Some(heading) = HEADING.captures(text)
        {
            let mut draft = FailureBuilder::captured(FailureKind::Test, TOOL, &heading, line);
            draft.set_location(&file, number, column);
            return Some(BlockStep::Begin(draft));
        }
        if line.body().starts_with("To rerun use: ") {
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if text.ends_with(':') && text.contains("hs:") {
            let Some(place) = LOCATION.captures(text) else {
                return Some(BlockStep::Claim(LineClaim::NotMine));
            };
            let file = place["file"].to_owned();
            self.place = Some((file, place.number("line"), place.number("column")));
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        let totals = findings.has_tool(TOOL).then(|| TOTALS.captures(text))??;
        Some(BlockStep::Totals(TOOL, TestTotals::captured(&totals)))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let body = line.body();
        if !(body.starts_with("but got: ") && draft.extend_message(", ", body)) {
            draft.push_message(body);
        }
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.place.is_some()
    }
}
