//! TestNG's own text: `FAILED: test`, with the stack that names the class below it.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "testng";

/// Reads TestNG's verbose text and its totals.
#[derive(Debug, Default)]
pub(super) struct TestNgParser {
    test: JavaTestFailure,
}

static EXCEPTION: LinePattern = LinePattern::new(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?::.*)?$");
static TOTALS: LinePattern = LinePattern::new(
    r"^Total tests run: (?P<all>\d+)(?:, Passes: \d+)?, Failures: (?P<failed>\d+), Skips: (?P<skipped>\d+)$",
);

impl FormatParser for TestNgParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some((outcome, id)) = parse_result(text) {
            self.test.close(findings);
            if outcome.starts_with("FAILED") {
                self.test.begin(TOOL, id, line, findings);
                return LineClaim::Evidence;
            }
            if !findings.has_tool(TOOL) {
                return LineClaim::NotMine;
            }
            let outcome = TestOutcome::named(outcome);
            findings.record_test(TOOL, outcome, id);
            return LineClaim::Ignore;
        }
        if text.starts_with("[TestNG] ") {
            findings.add_tool(TOOL);
            return LineClaim::Ignore;
        }
        if let Some(totals) = TOTALS.captures_prefixed(text, "Total tests run: ") {
            self.test.close(findings);
            findings.close_run(TOOL, TestTotals::captured(&totals));
            return LineClaim::Evidence;
        }
        if self.test.has_only_heading() && line.indent() == 8 {
            // The test's description.
            return LineClaim::Evidence;
        }
        if self.test.has_only_heading() && !EXCEPTION.is_match(text) {
            // Another tool's line about its own tests.
            self.test.discard();
        }
        self.test.parse_body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.test.close(findings);
    }
}

/// `FAILED: isEven(3)`, `FAILED CONFIGURATION: @BeforeClass load`: an outcome and a method.
fn parse_result(text: &str) -> Option<(&str, &str)> {
    let (outcome, id) = text.split_once(": ")?;
    let (known, id) = match (outcome, id.split_once(' ')) {
        ("FAILED CONFIGURATION", Some((_, method))) => (true, method),
        _ => (matches!(outcome, "FAILED" | "PASSED" | "SKIPPED"), id),
    };
    let name = id.split('(').next().unwrap_or(id);
    // Other programs print totals in this form: `FAILED: 0`.
    let method = name.starts_with(|c: char| !c.is_ascii_digit())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_$.".contains(c));
    (known && method).then_some((outcome, id))
}
