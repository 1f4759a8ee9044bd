//! Ant: the results of its `junit` task, with or without the task's name before each line, and the reason of
//! a failed build.

use std::sync::LazyLock;

use regex::Regex;

use super::java_test::JavaTestFailure;
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

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

static CLASS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^Testsuite: (?P<class>[\w.$]+)$"));
static CASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Testcase: (?P<name>[^\s(]+)(?:\((?P<class>[\w.$]+)\))?:?(?: took [\d.,]+ sec)?\s*(?P<outcome>FAILED|Caused an ERROR|SKIPPED.*)?$",
    )
});
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Tests run: (?P<runs>\d+), Failures: (?P<failures>\d+), Errors: (?P<errors>\d+)(?:, Skipped: (?P<skipped>\d+))?, Time elapsed: [\d.,]+ sec$",
    )
});
static BUILD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S.*\.xml):(?P<line>\d+): (?P<message>\S.*)$"));

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
                self.parse_counts(&counts);
                return LineClaim::Ignore;
            }
        }
        if let Some(id) = self.pending.take() {
            if text == "FAILED" || text == "Caused an ERROR" {
                self.test.begin(TOOL, &id, line, findings);
                return LineClaim::Evidence;
            }
            let skipped = text.starts_with("SKIPPED");
            let outcome = if skipped {
                TestOutcome::Skipped
            } else {
                TestOutcome::Passed
            };
            findings.runs.record_test(TOOL, outcome, Some(&id));
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
        case: &regex::Captures<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings
                .runs
                .record_test(TOOL, TestOutcome::Passed, Some(&id));
        }
        let class = case
            .name("class")
            .map_or(self.class.as_str(), |class| class.as_str());
        let name = &case["name"];
        let id = if class.is_empty() {
            name.to_owned()
        } else {
            format!("{class}.{name}")
        };
        match case.name("outcome").map(|outcome| outcome.as_str()) {
            None => self.pending = Some(id),
            Some(outcome) if outcome.starts_with("SKIPPED") => {
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Skipped, Some(&id));
            }
            Some(_) => self.test.begin(TOOL, &id, line, findings),
        }
        LineClaim::Evidence
    }

    /// Records the counts of one class, which a summary may repeat.
    fn parse_counts(&mut self, counts: &regex::Captures<'_>) {
        let number = |name: &str| {
            let digits = counts.name(name).map_or("", |group| group.as_str());
            digits.parse().unwrap_or(0_u64)
        };
        let (failed, skipped) = (number("failures") + number("errors"), number("skipped"));
        self.counts = Some(TestTotals::from_total(number("runs"), failed, skipped));
    }

    /// Ends the tests of a class.
    fn close(&mut self, findings: &mut Findings) {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings
                .runs
                .record_test(TOOL, TestOutcome::Passed, Some(&id));
        }
        if let Some(counts) = self.counts.take() {
            findings.add_tool(TOOL);
            findings.runs.close(TOOL, counts);
        }
    }
}

/// `BUILD FAILED`, and the place in the build file below it.
fn parse_build_failure(line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
    let Some(found) = BUILD.captures(line.text) else {
        return LineClaim::NotMine;
    };
    findings.add_tool(TOOL);
    let mut draft = FailureBuilder::new(FailureKind::Infra, TOOL, line);
    let message = &found["message"];
    if message.starts_with("Compile failed") || message.contains("ests failed") {
        draft.severity = FailureSeverity::Warning;
    }
    draft.set_location(&found["file"], found["line"].parse().ok(), None);
    draft.push_message(message);
    draft.push_excerpt(line);
    findings.add(draft.build());
    LineClaim::Evidence
}
