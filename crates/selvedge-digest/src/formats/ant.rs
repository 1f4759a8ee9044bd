//! Ant: the results of its `junit` task, with or without the task's name before each line, and the reason of
//! a failed build.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "ant";

/// Reads the plain and the brief formatter.
#[derive(Debug, Default)]
pub(super) struct AntParser {
    test: JavaTestFailure,
    /// The class under test, because lines may name only the test.
    class: String,
    /// A test whose outcome may be in the next line.
    pending: Option<String>,
    /// The counts of the class, which come before its tests.
    counts: Option<TestTotals>,
}

static CLASS: LinePattern = LinePattern::new(r"^Testsuite: (?P<class>[\w.$]+)$");
static CASE: LinePattern = LinePattern::new(
    r"^Testcase: (?P<name>[^\s(]+)(?:\((?P<class>[\w.$]+)\))?:?(?: took [\d.,]+ sec)?\s*(?P<outcome>FAILED|Caused an ERROR|SKIPPED.*)?$",
);
static COUNTS: LinePattern = LinePattern::new(
    r"^Tests run: (?P<all>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)(?:, Skipped: (?P<skipped>\d+))?, Time elapsed: [\d.,]+ sec$",
);
static BUILD: LinePattern =
    LinePattern::new(r"^(?P<file>\S.*\.xml):(?P<line>\d+): (?P<message>\S.*)$");

impl FormatParser for AntParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        let text = body.strip_prefix("[junit] ").unwrap_or(body).trim_start();
        if line.heading == "BUILD FAILED" && text.contains(".xml:") {
            return parse_build_failure(line, findings);
        }
        if text.starts_with("Test") {
            if let Some(class) = CLASS.captures(text) {
                self.close(findings);
                class["class"].clone_into(&mut self.class);
                return LineClaim::Ignore;
            }
            if let Some(case) = CASE.captures(text) {
                return self.parse_case(&case, line, findings);
            }
            if !self.class.is_empty()
                && let Some(counts) = COUNTS.captures(text)
            {
                // A summary may repeat the counts of a class.
                self.counts = Some(TestTotals::captured(&counts));
                return LineClaim::Ignore;
            }
        }
        if let Some(id) = self.pending.take() {
            if text == "FAILED" || text == "Caused an ERROR" {
                self.test.begin(TOOL, &id, line, findings);
                return LineClaim::Evidence;
            }
            let outcome = TestOutcome::unfailed(text.starts_with("SKIPPED"));
            findings.record_test(TOOL, outcome, &id);
        }
        self.test.parse_body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.pending.is_some() || self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl AntParser {
    fn parse_case(
        &mut self,
        case: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings.record_test(TOOL, TestOutcome::Passed, &id);
        }
        let class = case.get("class").unwrap_or(&self.class);
        let name = &case["name"];
        let id = if class.is_empty() {
            name.to_owned()
        } else {
            format!("{class}.{name}")
        };
        match case.get("outcome") {
            None => self.pending = Some(id),
            Some(outcome) if outcome.starts_with("SKIPPED") => {
                findings.record_test(TOOL, TestOutcome::Skipped, &id);
            }
            Some(_) => self.test.begin(TOOL, &id, line, findings),
        }
        LineClaim::Evidence
    }

    /// Ends the tests of a class.
    fn close(&mut self, findings: &mut Findings) {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings.record_test(TOOL, TestOutcome::Passed, &id);
        }
        if let Some(counts) = self.counts.take() {
            findings.close_run(TOOL, counts);
        }
    }
}

/// `BUILD FAILED`, and the place in the build file below it.
fn parse_build_failure(line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
    let Some(found) = BUILD.captures(line.text) else {
        return LineClaim::NotMine;
    };
    findings.add_tool(TOOL);
    let mut draft = FailureBuilder::captured(FailureKind::Infra, TOOL, &found, line);
    let message = &found["message"];
    if message.starts_with("Compile failed") || message.contains("ests failed") {
        draft.severity = FailureSeverity::Warning;
    }
    findings.add(draft.build());
    LineClaim::Evidence
}
