//! JUnit and TestNG under Maven: Surefire and Failsafe.

use std::sync::LazyLock;

use regex::Regex;

use super::java_test::JavaTestFailure;
use super::{FormatParser, LineClaim};
use crate::findings::{Findings, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;

const TOOL: &str = "maven";

/// Reads what Surefire prints of each class, and its closing totals.
#[derive(Debug, Default)]
pub(super) struct SurefireParser {
    test: JavaTestFailure,
    /// The current class, because lines may name only the test.
    class: String,
}

static TEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\[ERROR\] +)?(?P<id>[\w.$]+(?:[.#(\[{][^ ]*)?.*?)(?: --)? +(?i:Time elapsed): [\d.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!",
    )
});
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\[\w+\] +)?Tests run: (?P<runs>\d+), Failures: (?P<failures>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)(?P<one>,? (?:Time elapsed|FAILURE).*?(?:-+ in (?P<class>[\w.$]+))?)?$",
    )
});

impl FormatParser for SurefireParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.contains("Tests run:")
            && let Some(counts) = COUNTS.captures(text)
        {
            self.test.close(findings);
            self.record_counts(&counts, findings);
            return LineClaim::Evidence;
        }
        if text.contains("<<< ")
            && let Some(test) = TEST.captures(text)
        {
            let id = id_of(test["id"].trim(), &self.class);
            self.test.begin(TOOL, &id, line, findings);
            return LineClaim::Evidence;
        }
        if text.starts_with("[INFO]") {
            self.test.close(findings);
            return LineClaim::NotMine;
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

impl SurefireParser {
    /// The counts of one class, or those of all of them.
    fn record_counts(&mut self, counts: &regex::Captures<'_>, findings: &mut Findings) {
        if counts.name("one").is_some() {
            let class = counts.name("class").map_or("", |class| class.as_str());
            class.clone_into(&mut self.class);
            return;
        }
        let number = |name: &str| counts[name].parse().unwrap_or(0_u64);
        let (failed, skipped) = (number("failures") + number("errors"), number("skipped"));
        let passed = number("runs").saturating_sub(failed + skipped);
        findings.add_tool(TOOL);
        findings.runs.close(
            TOOL,
            TestTotals {
                passed,
                failed,
                skipped,
            },
        );
    }
}

/// Normalises `test(a.b.CTest)`, `a.b.CTest.test` and `test` below its class to the same id.
fn id_of(id: &str, class: &str) -> String {
    let parts = id
        .split_once('(')
        .and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    match parts {
        Some((name, class)) if !name.contains('.') && class.contains('.') => {
            format!("{class}.{name}")
        }
        _ if id.contains('.') || class.is_empty() || id == class => id.to_owned(),
        _ => format!("{class}.{id}"),
    }
}
