//! Ant: the results of its `junit` task, with or without the task's name before each line, and what
//! made the build fail.

use std::sync::LazyLock;

use regex::Regex;

use super::java_test::JavaTest;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Severity, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ant";

/// Reads the plain and the brief formatter.
#[derive(Debug, Default)]
pub(super) struct Ant {
    test: JavaTest,
    /// The class that is being tested, where a line names the test alone.
    class: String,
    /// A test whose outcome may stand in the next line.
    pending: Option<String>,
    /// The counts of the class, which stand before its tests.
    counts: Option<Totals>,
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

impl Format for Ant {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let body = line.body();
        let text = body.strip_prefix("[junit] ").unwrap_or(body).trim_start();
        if line.heading == "BUILD FAILED" && text.contains(".xml:") {
            return failed_build(line, findings);
        }
        if text.starts_with("Test") {
            if let Some(class) = CLASS.captures(text) {
                self.close(findings);
                class["class"].clone_into(&mut self.class);
                return Claim::Noise;
            }
            if let Some(case) = CASE.captures(text) {
                return self.case(&case, line, findings);
            }
            if !self.class.is_empty()
                && let Some(counts) = COUNTS.captures(text)
            {
                self.count(&counts);
                return Claim::Noise;
            }
        }
        if let Some(id) = self.pending.take() {
            if text == "FAILED" || text == "Caused an ERROR" {
                self.test.begin(TOOL, &id, line, findings);
                return Claim::Evidence;
            }
            let skipped = text.starts_with("SKIPPED");
            let outcome = if skipped {
                Outcome::Skipped
            } else {
                Outcome::Passed
            };
            findings.runs.test(TOOL, outcome, Some(&id));
        }
        self.test.body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.pending.is_some() || self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Ant {
    fn case(
        &mut self,
        case: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings.runs.test(TOOL, Outcome::Passed, Some(&id));
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
                findings.runs.test(TOOL, Outcome::Skipped, Some(&id));
            }
            Some(_) => self.test.begin(TOOL, &id, line, findings),
        }
        Claim::Evidence
    }

    /// The counts of one class; a summary may tell them twice.
    fn count(&mut self, counts: &regex::Captures<'_>) {
        let number = |name: &str| {
            let digits = counts.name(name).map_or("", |group| group.as_str());
            digits.parse().unwrap_or(0_u64)
        };
        let (failed, skipped) = (number("failures") + number("errors"), number("skipped"));
        self.counts = Some(Totals::of_all(number("runs"), failed, skipped));
    }

    /// The tests of a class are told.
    fn close(&mut self, findings: &mut Findings) {
        self.test.close(findings);
        if let Some(id) = self.pending.take() {
            findings.runs.test(TOOL, Outcome::Passed, Some(&id));
        }
        if let Some(counts) = self.counts.take() {
            findings.tool(TOOL);
            findings.runs.close(TOOL, counts);
        }
    }
}

/// `BUILD FAILED`, and the place in the build file below it.
fn failed_build(line: &Line<'_>, findings: &mut Findings) -> Claim {
    let Some(found) = BUILD.captures(line.text) else {
        return Claim::Foreign;
    };
    findings.tool(TOOL);
    let mut draft = Draft::new(FailureKind::Infra, TOOL, line);
    let message = &found["message"];
    if message.starts_with("Compile failed") || message.contains("ests failed") {
        draft.severity = Severity::Warning;
    }
    draft.place(&found["file"], found["line"].parse().ok(), None);
    draft.message(message);
    draft.excerpt(line);
    findings.add(draft.found());
    Claim::Evidence
}
