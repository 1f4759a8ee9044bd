//! `make check` by automake's parallel test driver: a row for each result, and a summary of the test suite between
//! rulers. dejagnu and others print equal rows, so they count only once the summary follows.

use super::prelude::*;
use crate::findings::TestRuns;

const TOOL: &str = "automake";
/// How many failures are held until the summary is read.
const HELD: usize = 400;
/// The counters of a summary, in their order.
const COUNTERS: [&str; 7] = [
    "# TOTAL: ",
    "# PASS: ",
    "# SKIP: ",
    "# XFAIL: ",
    "# FAIL: ",
    "# XPASS: ",
    "# ERROR: ",
];

/// Reads automake's rows and summaries.
#[derive(Debug, Default)]
pub(super) struct AutomakeParser {
    tests: TestRuns,
    failures: Vec<FailureBuilder>,
    state: SummaryState,
    counts: [u64; 7],
    /// The log of the test suite is being printed: rows in it are headings.
    logs: bool,
    /// Index of the failure whose log is read.
    log_of: Option<usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SummaryState {
    #[default]
    Outside,
    /// Its heading was read.
    Heading,
    /// So many counters were read, below a ruler.
    Counters(usize),
}

static ROW: LinePattern =
    LinePattern::new(r"^(?P<result>PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (?P<id>\S.*)$");

impl FormatParser for AutomakeParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("Testsuite summary for ") {
            self.state = SummaryState::Heading;
            self.log_of = None;
            return LineClaim::Ignore;
        }
        if self.state != SummaryState::Outside {
            return self.parse_summary(text, findings);
        }
        if text == ".. contents:: :depth: 2" {
            self.logs = true;
            return LineClaim::Ignore;
        }
        if let Some(row) = ROW.captures_marked(text, ": ") {
            self.parse_row(&row["result"], &row["id"], line);
        } else if let Some(failure) = self.log_of.and_then(|at| self.failures.get_mut(at))
            && !is_rule(text)
        {
            failure.push_excerpt_text(text);
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.state != SummaryState::Outside || self.logs
    }

    fn finish(&mut self, _: &mut Findings) {
        *self = Self::default();
    }
}

impl AutomakeParser {
    fn parse_row(&mut self, result: &str, id: &str, line: &CleanLine<'_>) {
        let is_id = |it: &FailureBuilder| it.failure.id.as_deref() == Some(id);
        if self.logs {
            self.log_of = self.failures.iter().position(is_id);
            return;
        }
        let outcome = match result {
            "PASS" | "XFAIL" => TestOutcome::Passed,
            "SKIP" => TestOutcome::Skipped,
            _ => TestOutcome::Failed,
        };
        self.tests.record_test(TOOL, outcome, Some(id));
        if outcome == TestOutcome::Failed && self.failures.len() < HELD {
            let mut draft = FailureBuilder::test(TOOL, id, line);
            draft.push_message(match result {
                "FAIL" => "failed",
                "XPASS" => "passed, but was expected to fail",
                _ => "error",
            });
            self.failures.push(draft);
        }
    }

    /// Rulers and counters; other lines show that it is not a summary.
    fn parse_summary(&mut self, text: &str, findings: &mut Findings) -> LineClaim {
        self.state = match self.state {
            SummaryState::Heading if is_rule(text) => SummaryState::Counters(0),
            SummaryState::Counters(read) if read < COUNTERS.len() => {
                let count = text.strip_prefix(COUNTERS[read]);
                match count.and_then(|count| count.trim_start().parse().ok()) {
                    Some(count) => {
                        self.counts[read] = count;
                        SummaryState::Counters(read + 1)
                    }
                    None => SummaryState::Outside,
                }
            }
            SummaryState::Counters(_) if is_rule(text) => {
                self.close(findings);
                return LineClaim::Evidence;
            }
            _ => SummaryState::Outside,
        };
        match self.state {
            SummaryState::Outside => LineClaim::NotMine,
            _ => LineClaim::Evidence,
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        let [all, pass, skip, xfail, fail, xpass, error] = self.counts;
        let held = std::mem::take(self);
        let sum = [pass, skip, xfail, fail, xpass, error]
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count));
        if sum != all || findings.runs.is_inner(TOOL) {
            return;
        }
        findings.add_tool(TOOL);
        findings.runs.absorb(held.tests);
        for draft in held.failures {
            findings.add(draft.build());
        }
        findings.runs.close(
            TOOL,
            TestTotals {
                passed: pass.saturating_add(xfail),
                failed: fail.saturating_add(xpass).saturating_add(error),
                skipped: skip,
            },
        );
    }
}

fn is_rule(text: &str) -> bool {
    text.len() >= 10 && text.bytes().all(|byte| byte == b'=')
}
