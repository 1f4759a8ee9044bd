//! ava's own reporter: a list of results, then a section for each failure, headed by its name.

use super::location::{CodeLocation, parse_colon_frame, take_frame};
use super::prelude::*;
use crate::findings::TestRuns;

const TOOL: &str = "ava";
/// How many names of failed tests are remembered.
const LISTED: usize = 1000;

/// Reads ava's report.
#[derive(Debug, Default)]
pub(super) struct AvaFormat {
    /// The names of failed tests, each with its text in the list.
    listed: Vec<String>,
    /// Below the rule that ends the list.
    sections: bool,
    totals: Option<TestTotals>,
    begun: bool,
    /// The passed and skipped tests in the list, held until a line identifies ava.
    unfailed: TestRuns,
    passed: u64,
    /// A ruler was read before any other line of ava: the totals of a run without failures may
    /// follow.
    ruled: bool,
}

static TOTAL: LinePattern = LinePattern::new(
    r"^  (?P<count>\d+) (?:known )?(?:tests? (?P<what>passed|failed|skipped|todo)|(?P<outside>uncaught exceptions?|unhandled rejections?))$",
);
/// Of a slow test, after its name.
static DURATION: LinePattern = LinePattern::new(r" \(\d[\d.]*m?s\)$");
static CODE: LinePattern = LinePattern::new(r"^\s*\d+:(?: |$)");

impl BlockFormat for AvaFormat {
    const IS_TEST: bool = true;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let body = line.body();
        if let Some(name) = body.strip_prefix("✘ [fail]: ") {
            findings.add_tool(TOOL);
            self.begun = true;
            self.list(name);
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        // Of ava 3 and 4; other runners print such lines, too.
        let older = body.strip_prefix("✖ ").filter(|_| line.indent() == 2);
        if let Some(name) = older.filter(|_| !self.ruled && !self.sections) {
            self.list(name.trim_end());
            return self.begun.then_some(BlockStep::End(LineClaim::Ignore));
        }
        if let Some(file) = body.strip_prefix("Uncaught exception in ") {
            self.begun = true;
            return Some(BlockStep::Begin(FailureBuilder::test(TOOL, file, line)));
        }
        if !self.begun {
            if line.indent() == 2 && !self.ruled && self.parse_unfailed(body) {
                return None;
            }
            if body == "─" && line.indent() == 2 {
                self.ruled = true;
            } else if !line.is_blank() {
                let is_section = line.indent() == 2 && self.is_listed(body);
                let is_known = TOTAL.is_match(line.text) || is_section;
                self.begun = std::mem::take(&mut self.ruled) && is_known;
                self.sections = self.begun && is_section;
            }
            if !self.begun {
                return None;
            }
            findings.add_tool(TOOL);
        }
        if body == "─" {
            self.sections = true;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if line.indent() != 2 {
            return None;
        }
        if let Some(total) = TOTAL.captures(line.text) {
            let totals = self.totals.get_or_insert_default();
            totals.add_count(total.get("what").unwrap_or("failed"), total.count("count"));
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        if self.sections && self.is_listed(body) {
            return Some(BlockStep::Begin(FailureBuilder::test(TOOL, body, line)));
        }
        let is_result = body.starts_with("✘ ") || self.parse_unfailed(body);
        is_result.then_some(BlockStep::End(LineClaim::Ignore))
    }

    /// A line of a section: the place, source, the message with a diff, frames.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if !line.is_blank() && line.indent() == 0 {
            return BlockStep::OVER;
        }
        let body = line.body();
        let frame = body.strip_prefix("› ").or(body.strip_prefix("at "));
        if let Some(place) = frame.and_then(parse_colon_frame) {
            let file = place.file.trim_start_matches("file://");
            return take_frame(draft, CodeLocation { file, ..place });
        }
        if let Some(place) =
            parse_colon_frame(body).filter(|_| line.indent() == 2 && !body.contains(' '))
        {
            draft.set_location(place.file, place.line, None);
        } else if CODE.is_match(line.text) {
            return BlockStep::Shown;
        } else if !body.is_empty() && frame.is_none() {
            let class = body.split(": ").next();
            if class.is_some_and(|class| class.ends_with("Error")) {
                draft.set_summary(body);
            }
            draft.push_message(line.text.strip_prefix("  ").unwrap_or(body));
        }
        BlockStep::Taken
    }

    fn is_waiting(&self) -> bool {
        self.begun || self.ruled
    }

    fn finish(&mut self, findings: &mut Findings) {
        let mut list = std::mem::take(self);
        if let Some(mut totals) = list.totals.take() {
            findings.runs.absorb(list.unfailed);
            if totals.passed == 0 {
                // If a test failed, ava does not count those that passed.
                totals.passed = list.passed;
            }
            findings.runs.close(TOOL, totals);
        }
    }
}

impl AvaFormat {
    /// Remembers a failed test of the list.
    fn list(&mut self, name: &str) {
        if self.listed.len() < LISTED {
            self.listed.push(name.to_owned());
        }
    }

    /// `✔ name`, `✔ name (1.2s)`, `- [skip] name`.
    fn parse_unfailed(&mut self, body: &str) -> bool {
        let skipped = body
            .strip_prefix("- [skip] ")
            .or(body.strip_prefix("- [todo] "));
        let (name, outcome) = match (body.strip_prefix("✔ "), skipped) {
            (Some(name), _) => (name, TestOutcome::Passed),
            (None, Some(name)) => (name, TestOutcome::Skipped),
            (None, None) => return false,
        };
        self.passed += u64::from(outcome == TestOutcome::Passed);
        let name = DURATION.find(name).map_or(name, |it| &name[..it.start()]);
        self.unfailed.record_test(TOOL, outcome, Some(name));
        true
    }

    /// Whether the test is listed; the list has the message after the name.
    fn is_listed(&self, name: &str) -> bool {
        let is_same = |listed: &String| {
            let rest = listed.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        !name.is_empty() && self.listed.iter().any(is_same)
    }
}
