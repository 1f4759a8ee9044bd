//! XCTest, as `swift test` and Xcode print it: each test is reported when it begins and when it ends, with
//! its failed assertions in between. A test that does not end has crashed the process.

use super::prelude::*;

const TOOL: &str = "XCTest";

/// Reads XCTest's text.
#[derive(Debug, Default)]
pub(super) struct XcTestParser {
    /// The test that runs, with what it printed.
    draft: Option<FailureBuilder>,
    /// How tests ended since the last totals.
    seen: TestTotals,
    /// A suite of all tests has ended; its totals follow.
    closing: bool,
}

/// `a.swift:3: error: CartTests.testTotal : message`; with a class in brackets under Xcode.
static ASSERTION: LinePattern = LinePattern::new(
    r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<id>-\[\S+ \S+\]|[\w.]+) : (?P<message>\S.*)$",
);
/// `Shop/Cart.swift:17: Fatal error: message`
static FATAL: LinePattern = LinePattern::new(
    r"^(?P<file>[^:]+\.swift):(?P<line>\d+): (?P<message>(?:Fatal error|Precondition|Assertion).*)$",
);
static EXECUTED: LinePattern = LinePattern::new(r"^\s*Executed (?P<all>\d+) tests?, with ");

impl FormatParser for XcTestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(rest) = text.strip_prefix("Test Case '") {
            return self.parse_case(rest, line, findings);
        }
        if let Some(rest) = text.strip_prefix("Test Suite '") {
            let all = rest.starts_with("All tests'") || rest.starts_with("Selected tests'");
            self.closing = all && !rest.contains("' started at ");
            return LineClaim::Ignore;
        }
        if self.closing
            && let Some(executed) = EXECUTED.captures(text)
        {
            self.closing = false;
            self.record_total(executed["all"].parse().unwrap_or(0), findings);
            return LineClaim::Ignore;
        }
        let error = line.signals.intersects(LineSignals::ERROR);
        if error && let Some(failed) = ASSERTION.captures(text) {
            self.record_assertion(&failed, line);
            return LineClaim::Evidence;
        }
        if line.signals.intersects(LineSignals::ANY_FAILURE)
            && self.draft.is_some()
            && let Some(fatal) = FATAL.captures(text)
        {
            self.record_assertion(&fatal, line);
            return LineClaim::Evidence;
        }
        LineClaim::NotMine
    }

    fn parse_passed_test(&mut self, text: &str, findings: &mut Findings) -> bool {
        let ended = text.strip_prefix("Test Case '").and_then(parse_test_end);
        let Some((id, "passed")) = ended else {
            return false;
        };
        let failing = self
            .draft
            .as_ref()
            .is_some_and(|draft| draft.failure.message.is_some());
        if !failing {
            self.draft = None;
            self.seen.passed = self.seen.passed.saturating_add(1);
            findings.record_test(TOOL, TestOutcome::Passed, id);
        }
        !failing
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.closing
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.record_crash(findings);
    }
}

/// The test whose end a line reports, and its result: `passed`, `failed` or `skipped`.
fn parse_test_end(text: &str) -> Option<(&str, &str)> {
    let (id, rest) = text.rsplit_once("' ")?;
    let (outcome, time) = rest.split_once(' ')?;
    time.starts_with('(').then_some((id, outcome))
}

impl XcTestParser {
    /// Reads the beginning or the end of a test.
    fn parse_case(
        &mut self,
        text: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let Some((id, outcome)) = parse_test_end(text) else {
            self.record_crash(findings);
            let id = text.split('\'').next().unwrap_or_default();
            self.draft = Some(FailureBuilder::test(TOOL, id, line));
            findings.add_tool(TOOL);
            return LineClaim::Ignore;
        };
        let draft = self.draft.take();
        match outcome {
            "passed" | "skipped" => {
                let (outcome, count) = match outcome {
                    "passed" => (TestOutcome::Passed, &mut self.seen.passed),
                    _ => (TestOutcome::Skipped, &mut self.seen.skipped),
                };
                *count = count.saturating_add(1);
                findings.record_test(TOOL, outcome, id);
            }
            _ => {
                self.seen.failed = self.seen.failed.saturating_add(1);
                let mut draft =
                    draft.unwrap_or_else(|| FailureBuilder::new(FailureKind::Test, TOOL, line));
                draft.failure.id = Some(id.to_owned());
                draft.skip_line(line);
                findings.add_test(draft);
            }
        }
        LineClaim::Ignore
    }

    fn record_assertion(&mut self, failed: &Groups<'_>, line: &CleanLine<'_>) {
        let draft = self.draft.get_or_insert_with(|| {
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = failed.get("id").map(str::to_owned);
            draft
        });
        // An error that is thrown out of a test has no place: the file is `<EXPR>` then.
        let file = failed.text("file");
        if !file.starts_with('<') {
            draft.set_location(file, failed["line"].parse().ok(), None);
        }
        draft.push_message(failed["message"].trim_end_matches(" -"));
        draft.skip_line(line);
    }

    /// The runner counts failed assertions and all tests; these are compared with the observed results.
    fn record_total(&mut self, all: u64, findings: &mut Findings) {
        let TestTotals {
            failed, skipped, ..
        } = std::mem::take(&mut self.seen);
        if all > 0 {
            findings
                .runs
                .close(TOOL, TestTotals::from_total(all, failed, skipped));
        }
    }

    /// Records a test that began but did not end.
    fn record_crash(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        if draft.failure.message.is_none() {
            draft.push_message("the test began and did not end");
        }
        self.seen.failed = self.seen.failed.saturating_add(1);
        findings.add_test(draft);
    }
}
