//! Gradle: test results, and errors of the build itself.

use super::java_test::JavaTestFailure;
use super::prelude::*;

const TOOL: &str = "gradle";

/// Reads Gradle's plain console.
#[derive(Debug, Default)]
pub(super) struct GradleParser {
    test: JavaTestFailure,
    /// A Gradle task was read, so that a line that ends like a result may be one.
    runs: bool,
    /// The build failure and its place, as far as they were read.
    build_failure: Option<FailureBuilder>,
    /// Its innermost cause.
    cause: Option<String>,
    place: Option<(String, Option<u32>)>,
    /// Below `* Where:`.
    located: bool,
}

static RESULT: LinePattern = LinePattern::new(
    r"^(?P<id>[A-Za-z_][\w.$]*(?: > .+?)+) (?P<outcome>FAILED|PASSED|SKIPPED)(?: \([\d.]+m?s\))?$",
);
static TOTALS: LinePattern = LinePattern::new(
    r"^(?P<all>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?$",
);
static WHERE: LinePattern = LinePattern::new(
    r"^(?:Build|Settings|Script|Initialization script)\b.*? '(?P<file>[^']+)' line: (?P<line>\d+)$",
);

impl FormatParser for GradleParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("> Task :") || text.starts_with(':') {
            self.test.close(findings);
            self.runs = true;
            return LineClaim::NotMine;
        }
        if text.ends_with(['D', ')'])
            && text.contains(" > ")
            && let Some(test) = RESULT.captures(text)
        {
            return self.record_result(&test, line, findings);
        }
        if text.starts_with(|c: char| c.is_ascii_digit())
            && let Some(totals) = TOTALS.captures(text)
        {
            self.test.close(findings);
            findings.runs.close(TOOL, TestTotals::captured(&totals));
            return LineClaim::Evidence;
        }
        if text.starts_with("* ") {
            self.test.close(findings);
            self.close_build_failure(findings);
            self.located = text == "* Where:";
            if self.located {
                return LineClaim::Evidence;
            }
            if text == "* What went wrong:" {
                findings.add_tool(TOOL);
                self.build_failure = Some(FailureBuilder::new(FailureKind::Infra, TOOL, line));
                return LineClaim::Evidence;
            }
        }
        if std::mem::take(&mut self.located)
            && let Some(place) = WHERE.captures(text)
        {
            self.place = Some((place["file"].to_owned(), place.number("line")));
            return LineClaim::Evidence;
        }
        if self.build_failure.is_some() {
            return self.parse_build_failure(line, findings);
        }
        self.test.parse_body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.runs || self.located || self.build_failure.is_some() || self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.test.close(findings);
        self.close_build_failure(findings);
    }
}

impl GradleParser {
    fn record_result(
        &mut self,
        test: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        self.test.close(findings);
        findings.add_tool(TOOL);
        let id = id_of(&test["id"]);
        let outcome = TestOutcome::named(&test["outcome"]);
        if outcome == TestOutcome::Failed {
            self.test.begin(TOOL, &id, line, findings);
            return LineClaim::Evidence;
        }
        findings.record_test(TOOL, outcome, &id);
        LineClaim::Ignore
    }

    /// Reads a line below "What went wrong"; a task that ran a compiler or tests only repeats their errors.
    fn parse_build_failure(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.build_failure else {
            return LineClaim::NotMine;
        };
        if line.is_blank() {
            self.close_build_failure(findings);
            return LineClaim::NotMine;
        }
        let text = line.body().trim_start_matches("> ");
        if line.body().starts_with("> ") {
            self.cause = Some(text.to_owned());
        }
        if let Some(task) = text.strip_prefix("Execution failed for task '") {
            draft.failure.id = Some(task.trim_end_matches(['.', '\'']).to_owned());
        } else if text.starts_with("There were failing tests")
            || text.starts_with("Compilation failed")
            || text.starts_with("Compilation error")
        {
            draft.severity = FailureSeverity::Warning;
        }
        draft.push_message(text);
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close_build_failure(&mut self, findings: &mut Findings) {
        let cause = self.cause.take();
        if let Some(mut draft) = self.build_failure.take() {
            if let Some(cause) = cause {
                draft.set_summary(&cause);
            }
            if let Some((file, number)) = self.place.take() {
                draft.set_location(&file, number, None);
            }
            findings.add(draft.build());
        }
    }
}

/// Converts `a.b.CTest > test()` to the form of a test filter: `a.b.CTest.test()`; nested names stay
/// separate.
fn id_of(id: &str) -> String {
    match id.split_once(" > ") {
        Some((class, test)) if !test.contains(" > ") && class.contains('.') => {
            format!("{class}.{test}")
        }
        _ => id.to_owned(),
    }
}
