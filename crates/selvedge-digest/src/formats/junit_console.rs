//! JUnit's console launcher: the list of failures below its tree, and the counts in brackets.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "junit";

/// Reads the launcher's summary.
#[derive(Debug, Default)]
pub(super) struct JUnitConsoleParser {
    test: JavaTestFailure,
    /// The last part of the name of one run of a parameterized test: `[2] 3`.
    invocation: Option<String>,
    totals: TestTotals,
}

static SOURCE: LinePattern = LinePattern::new(
    r"^\w+Source \[className = '(?P<class>[^']+)'(?:, methodName = '(?P<method>[^']+)')?",
);
static COUNT: LinePattern =
    LinePattern::new(r"^\[ +(?P<count>\d+) tests (?P<what>skipped|aborted|successful|failed) +\]$");

impl FormatParser for JUnitConsoleParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if body.starts_with("JUnit ") && line.indent() == 2 {
            self.test.begin(TOOL, body, line, findings);
            self.invocation = body
                .rsplit_once(":[")
                .map(|(_, last)| format!("[{last}").split(' ').take(1).collect());
            return LineClaim::Evidence;
        }
        if self.test.has_only_heading()
            && let Some(source) = SOURCE.captures(body)
        {
            let method = source.text("method");
            let run = self.invocation.take().unwrap_or_default();
            let id = format!("{}.{method}{run}", &source["class"]);
            self.test.set_id(id.trim_end_matches('.'));
            return LineClaim::Evidence;
        }
        if let Some(count) = COUNT.captures_prefixed(body, "[ ") {
            self.test.close(findings);
            self.record_count(&count["what"], count.count("count"), findings);
            return LineClaim::Ignore;
        }
        if line.indent() == 0 {
            self.test.close(findings);
            return LineClaim::NotMine;
        }
        self.test.parse_body(line.text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.test.close(findings);
    }
}

impl JUnitConsoleParser {
    /// Each count has a line of its own; the number of failed tests is the last.
    fn record_count(&mut self, what: &str, count: u64, findings: &mut Findings) {
        match what {
            "successful" => self.totals.passed = count,
            "failed" => {
                self.totals.failed = count;
                findings.close_run(TOOL, std::mem::take(&mut self.totals));
            }
            _ => self.totals.skipped += count,
        }
    }
}
