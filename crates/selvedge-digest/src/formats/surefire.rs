//! JUnit and TestNG under Maven: Surefire and Failsafe.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "maven";

/// Reads what Surefire prints of each class, and its closing totals.
#[derive(Debug, Default)]
pub(super) struct SurefireParser {
    test: JavaTestFailure,
    /// The current class, because lines may name only the test.
    class: String,
}

static TEST: LinePattern = LinePattern::new(
    r"^(?:\[ERROR\] +)?(?P<id>[\w.$]+(?:[.#(\[{][^ ]*)?.*?)(?: --)? +(?i:Time elapsed): [\d.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!",
);
static COUNTS: LinePattern = LinePattern::new(
    r"^(?:\[\w+\] +)?Tests run: (?P<all>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)(?P<one>,? (?:Time elapsed|FAILURE).*?(?:-+ in (?P<class>[\w.$]+))?)?$",
);

impl FormatParser for SurefireParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(counts) = COUNTS.captures_marked(text, "Tests run:") {
            self.test.close(findings);
            self.record_counts(&counts, findings);
            return LineClaim::Evidence;
        }
        if let Some(test) = TEST.captures_marked(text, "<<< ") {
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
    fn record_counts(&mut self, counts: &Groups<'_>, findings: &mut Findings) {
        if counts.has("one") {
            let class = counts.text("class");
            class.clone_into(&mut self.class);
            return;
        }
        findings.close_run(TOOL, TestTotals::captured(counts));
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
