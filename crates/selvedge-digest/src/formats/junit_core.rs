//! JUnit 4's runner for terminals, `JUnitCore`: a numbered list of failures, each with its stack, and the totals.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "junit";

/// Reads the runner's list and totals.
#[derive(Debug, Default)]
pub(super) struct JUnitCoreParser {
    test: JavaTestFailure,
    /// Between the runner's name and its totals.
    running: bool,
    /// Number of classes that failed as a whole, before any of their tests was counted.
    failed_classes: u64,
}

/// `1) sums[0](shop.CartTest)`, or `1) shop.CartTest` if it failed as a whole.
static HEADING: LinePattern =
    LinePattern::new(r"^\d+\) (?:(?P<name>\S.*)\((?P<class>[\w.$]+)\)|(?P<whole>[\w.$]+))$");
static PASSED: LinePattern = LinePattern::new(r"^OK \((?P<all>\d+) tests?\)$");
/// Other runners separate the counts by one space.
static FAILED: LinePattern = LinePattern::new(
    r"^Tests run: (?P<all>\d+),  Failures: (?P<failed>\d+)(?:,  Errors: (?P<errors>\d+))?$",
);

impl FormatParser for JUnitCoreParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("JUnit version ") {
            self.test.close(findings);
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
            self.running = true;
            return LineClaim::Ignore;
        }
        let totals = PASSED.captures_prefixed(text, "OK (");
        if let Some(totals) = totals.or_else(|| FAILED.captures_prefixed(text, "Tests run: ")) {
            self.test.close(findings);
            self.running = false;
            let all = totals
                .count("all")
                .saturating_add(std::mem::take(&mut self.failed_classes));
            let failed = totals
                .count("failed")
                .saturating_add(totals.count("errors"));
            findings.close_run(TOOL, TestTotals::from_total(all, failed, 0));
            return LineClaim::Ignore;
        }
        if !self.running {
            return LineClaim::NotMine;
        }
        if let Some(heading) = HEADING.captures(text) {
            let id = match heading.get("whole") {
                Some(class) => {
                    self.failed_classes += 1;
                    class.to_owned()
                }
                None => format!("{}.{}", heading.text("class"), heading.text("name")),
            };
            self.test.begin(TOOL, &id, line, findings);
            return LineClaim::Evidence;
        }
        if text == "FAILURES!!!" || text.starts_with("There w") && text.ends_with(':') {
            self.test.close(findings);
            return LineClaim::Ignore;
        }
        self.test.parse_body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.running
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.test.close(findings);
    }
}
