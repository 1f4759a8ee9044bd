//! Karma: each failed test is a line that begins with the browser, with its message and frames below it; then
//! the number of executed tests.

use super::location::{parse_colon_frame, take_frame};
use super::prelude::*;

const TOOL: &str = "karma";
/// Maximum number of distinct browsers.
const BROWSERS: usize = 16;

/// Reads Karma's progress and dots reporters.
#[derive(Debug, Default)]
pub(super) struct KarmaFormat {
    /// The last count of each browser.
    executed: Vec<(String, TestTotals)>,
}

static HEADING: LinePattern = LinePattern::new(
    r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\))(?: (?P<id>\S.*?))? (?P<outcome>FAILED|ERROR)$",
);
static EXECUTED: LinePattern = LinePattern::new(
    r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\)): Executed (?P<run>\d+) of \d+ ?(?:\((?P<failed>\d+) FAILED\))? ?(?:\(skipped (?P<skipped>\d+)\))?",
);

impl BlockFormat for KarmaFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some(executed) = EXECUTED.captures_marked(text, ": Executed ") {
            self.record_executed(&executed, findings);
            // A disconnected browser is reported by the rest of its count.
            return Some(BlockStep::End(if text.contains("DISCONNECTED") {
                LineClaim::NotMine
            } else {
                LineClaim::Suppress
            }));
        }
        let candidate = text.ends_with("ED") || text.ends_with("ERROR");
        let heading = candidate.then(|| HEADING.captures(text))??;
        if let Some(id) = heading.get("id") {
            findings.record_test(TOOL, TestOutcome::Failed, id);
        }
        // An error outside of the tests gets the browser as its id.
        let id = heading.get("id").unwrap_or(&heading["browser"]);
        Some(BlockStep::Begin(FailureBuilder::test(TOOL, id, line)))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.indent() == 0 {
            return BlockStep::OVER;
        }
        let body = line.body();
        let frame = body.strip_prefix("at ");
        if let Some(place) = frame.and_then(parse_colon_frame) {
            return take_frame(draft, place);
        }
        if frame.is_some() || body.starts_with("An error was thrown in ") {
            return BlockStep::Taken;
        }
        match parse_colon_frame(body).filter(|_| !body.contains(' ')) {
            Some(place) => draft.set_location(place.file, place.line, place.column),
            None => draft.push_message(body),
        }
        BlockStep::Taken
    }

    fn finish(&mut self, findings: &mut Findings) {
        for (_, totals) in self.executed.drain(..) {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl KarmaFormat {
    fn record_executed(&mut self, executed: &Groups<'_>, findings: &mut Findings) {
        findings.add_tool(TOOL);
        let totals = TestTotals::captured(executed);
        let browser = &executed["browser"];
        let room = self.executed.len() < BROWSERS;
        match self.executed.iter_mut().find(|(known, _)| known == browser) {
            Some((_, known)) => *known = totals,
            None if room => self.executed.push((browser.to_owned(), totals)),
            None => {}
        }
    }
}
