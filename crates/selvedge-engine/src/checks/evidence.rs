//! Assesses how far a passing exit code can be trusted. `test_passes` requires it, but it is never sufficient: the
//! runner's report, or else its output, must show that tests were executed, that none of them failed, and that the
//! runner ended normally.

use selvedge_core::model::Evidence;
use selvedge_digest::TestSummary;

use super::reports::ParsedReport;

/// Evidence that a test command executed tests.
#[derive(Debug, PartialEq)]
pub(super) struct EvidenceAssessment {
    /// The source that the assessment relies on.
    pub(super) evidence: Evidence,
    /// The tests, from the most reliable source.
    pub(super) tests: Option<TestSummary>,
    /// Why an exit code of 0 does not count as a pass, if so.
    pub(super) problem: Option<String>,
}

/// Assesses what a runner printed and what its machine-readable report contains.
pub(super) fn assess(
    runner: &str,
    printed: Option<TestSummary>,
    report: ParsedReport,
) -> EvidenceAssessment {
    let problem = match &report {
        ParsedReport::NotExpected => missing_report_problem(printed.as_ref()),
        ParsedReport::Missing => Some(format!("{runner} did not write the requested report")),
        ParsedReport::Unreadable(why) => Some(format!("the report of {runner} {why}")),
        ParsedReport::Complete(tests) => contradiction(runner, tests, printed.as_ref()),
    };
    let (evidence, tests) = match (report, printed) {
        (ParsedReport::Complete(tests), _) => (Evidence::MachineReport, Some(tests)),
        (_, Some(tests)) => (Evidence::Text, Some(tests)),
        (_, None) => (Evidence::ExitCode, None),
    };
    EvidenceAssessment {
        evidence,
        tests,
        problem: problem.map(|why| format!("exited with 0, but {why}")),
    }
}

/// Returns the problem of a runner from which no report was requested.
fn missing_report_problem(tests: Option<&TestSummary>) -> Option<String> {
    let Some(tests) = tests else {
        return Some(
            "no test summary was recognised in its output: use a check of type `command` if only \
             the exit code counts"
                .to_owned(),
        );
    };
    if tests.failed > 0 {
        return Some(format!(
            "its output shows that {} tests failed",
            tests.failed
        ));
    }
    if !tests.complete {
        return Some("without the runner's closing summary".to_owned());
    }
    (tests.executed == 0).then(|| "executed no test".to_owned())
}

/// Returns the problem of a complete report, including a contradiction of what the runner printed for people.
fn contradiction(
    runner: &str,
    tests: &TestSummary,
    printed: Option<&TestSummary>,
) -> Option<String> {
    if tests.failed > 0 {
        let failed = tests.failed;
        return Some(format!(
            "the report of {runner} shows that {failed} tests failed"
        ));
    }
    if tests.executed == 0 {
        return Some("executed no test".to_owned());
    }
    let printed = printed.filter(|printed| printed.complete && printed.failed > 0)?;
    let failed = printed.failed;
    Some(format!(
        "its output shows that {failed} tests failed, but the report of {runner} does not contain them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(passed: u64, failed: u64, complete: bool) -> TestSummary {
        TestSummary {
            executed: passed + failed,
            passed,
            failed,
            complete,
            ..TestSummary::default()
        }
    }

    #[test]
    fn evidence_needs_complete_report_and_a_test() {
        use Evidence::{ExitCode, MachineReport, Text};
        let complete = |passed, failed| ParsedReport::Complete(tests(passed, failed, true));
        let printed = |passed, failed| Some(tests(passed, failed, true));
        let broken = || ParsedReport::Unreadable("is incomplete".to_owned());
        let cases = [
            (printed(2, 0), complete(2, 0), MachineReport, None),
            (None, complete(2, 0), MachineReport, None),
            (
                printed(2, 0),
                complete(1, 1),
                MachineReport,
                Some("1 tests failed"),
            ),
            (
                printed(1, 1),
                complete(2, 0),
                MachineReport,
                Some("report of pytest does not contain them"),
            ),
            (
                Some(tests(1, 1, false)),
                complete(2, 0),
                MachineReport,
                None,
            ),
            (
                None,
                complete(0, 0),
                MachineReport,
                Some("executed no test"),
            ),
            (
                printed(2, 0),
                ParsedReport::Missing,
                Text,
                Some("pytest did not write the requested report"),
            ),
            (printed(2, 0), broken(), Text, Some("is incomplete")),
            (printed(2, 0), ParsedReport::NotExpected, Text, None),
            (
                printed(0, 0),
                ParsedReport::NotExpected,
                Text,
                Some("executed no test"),
            ),
            (
                Some(tests(2, 0, false)),
                ParsedReport::NotExpected,
                Text,
                Some("closing summary"),
            ),
            (
                None,
                ParsedReport::NotExpected,
                ExitCode,
                Some("no test summary"),
            ),
        ];
        for (printed, report, evidence, why) in cases {
            let case = format!("{printed:?} {report:?}");
            let assessment = assess("pytest", printed, report);
            assert_eq!(assessment.evidence, evidence, "{case}");
            let problem = assessment.problem.unwrap_or_default();
            assert!(
                problem.contains(why.unwrap_or_default()),
                "{case}: {problem}"
            );
            assert_eq!(problem.is_empty(), why.is_none(), "{case}: {problem}");
        }
    }
}
