//! Karma: each failed test is a line that begins with the browser, with its message and frames below it; then
//! the number of executed tests.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "karma";
/// Maximum number of distinct browsers.
const BROWSERS: usize = 16;

/// Reads Karma's progress and dots reporters.
#[derive(Debug, Default)]
pub(super) struct KarmaParser {
    draft: Option<FailureBuilder>,
    /// The draft is that of a test.
    in_test: bool,
    /// The last count of each browser.
    executed: Vec<(String, TestTotals)>,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\))(?: (?P<id>\S.*?))? (?P<outcome>FAILED|ERROR)$",
    )
});
static EXECUTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\)): Executed (?P<run>\d+) of \d+ ?(?:\((?P<failed>\d+) FAILED\))? ?(?:\(skipped (?P<skipped>\d+)\))?",
    )
});

impl FormatParser for KarmaParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.contains(": Executed ")
            && let Some(executed) = EXECUTED.captures(text)
        {
            self.close(findings);
            self.record_executed(&executed, findings);
            // A disconnected browser is reported by the rest of its count.
            return if text.contains("DISCONNECTED") {
                LineClaim::NotMine
            } else {
                LineClaim::Suppress
            };
        }
        if (text.ends_with("ED") || text.ends_with("ERROR"))
            && let Some(heading) = HEADING.captures(text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            // An error outside of the tests gets the browser as its id.
            let id = heading.name("id").or(heading.name("browser"));
            draft.failure.id = id.map(|id| id.as_str().to_owned());
            self.in_test = heading.name("id").is_some();
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| line.indent() > 0) else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        parse_body(draft, line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        for (_, totals) in self.executed.drain(..) {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl KarmaParser {
    fn record_executed(&mut self, executed: &regex::Captures<'_>, findings: &mut Findings) {
        findings.add_tool(TOOL);
        let number = |name: &str| {
            executed
                .name(name)
                .map_or(0, |n| n.as_str().parse().unwrap_or(0_u64))
        };
        let failed = number("failed");
        let totals = TestTotals {
            passed: number("run").saturating_sub(failed),
            failed,
            skipped: number("skipped"),
        };
        let browser = &executed["browser"];
        let room = self.executed.len() < BROWSERS;
        match self.executed.iter_mut().find(|(known, _)| known == browser) {
            Some((_, known)) => *known = totals,
            None if room => self.executed.push((browser.to_owned(), totals)),
            None => {}
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            if self.in_test {
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Failed, draft.failure.id.as_deref());
            }
            findings.add(draft.build());
        }
    }
}

/// A line of the message, or a frame.
fn parse_body(draft: &mut FailureBuilder, line: &CleanLine<'_>) {
    let body = line.body();
    let frame = body.strip_prefix("at ");
    if let Some(place) = frame.and_then(parse_colon_frame) {
        if is_foreign(place.file) {
            draft.skip_line(line);
        } else {
            draft.set_location(place.file, place.line, place.column);
            draft.push_excerpt(line);
        }
    } else if frame.is_some() || body.starts_with("An error was thrown in ") {
        draft.skip_line(line);
    } else if let Some(place) = parse_colon_frame(body).filter(|_| !body.contains(' ')) {
        draft.set_location(place.file, place.line, place.column);
        draft.skip_line(line);
    } else {
        draft.push_message(body);
        draft.skip_line(line);
    }
}
