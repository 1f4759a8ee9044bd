//! What a passing exit code is worth. It is necessary and never sufficient for `test_passes`: the
//! runner's report, or else its output, must show that tests were executed, that none of them failed,
//! and that the runner came to its own end.

use selvedge_core::model::Evidence;
use selvedge_digest::TestSummary;

use super::reports::ParsedReport;

/// What a test command showed.
#[derive(Debug, PartialEq)]
pub(super) struct EvidenceAssessment {
    /// What it rests on.
    pub(super) evidence: Evidence,
    /// The tests, by the surest source.
    pub(super) tests: Option<TestSummary>,
    /// Why an exit code of 0 is no pass, if it is none.
    pub(super) problem: Option<String>,
}

/// Weighs what a runner printed, and what it reported to machines.
pub(super) fn assess(
    runner: &str,
    printed: Option<TestSummary>,
    told: ParsedReport,
) -> EvidenceAssessment {
    let worthless = match &told {
        ParsedReport::NotExpected => missing_report_problem(printed.as_ref()),
        ParsedReport::Missing => Some(format!(
            "{runner} wrote no report, though it was asked for one"
        )),
        ParsedReport::Unreadable(why) => Some(format!("the report of {runner} {why}")),
        ParsedReport::Complete(tests) => contradiction(runner, tests, printed.as_ref()),
    };
    let (evidence, tests) = match (told, printed) {
        (ParsedReport::Complete(tests), _) => (Evidence::MachineReport, Some(tests)),
        (_, Some(tests)) => (Evidence::Text, Some(tests)),
        (_, None) => (Evidence::ExitCode, None),
    };
    EvidenceAssessment {
        evidence,
        tests,
        problem: worthless.map(|why| format!("exited with 0, but {why}")),
    }
}

/// Of a runner that nobody asked for a report.
fn missing_report_problem(tests: Option<&TestSummary>) -> Option<String> {
    let Some(tests) = tests else {
        return Some(
            "no test summary was recognised in its output: use a check of type `command` if the \
             exit code alone is to count"
                .to_owned(),
        );
    };
    if tests.failed > 0 {
        return Some(format!(
            "its output says that {} tests failed",
            tests.failed
        ));
    }
    if !tests.complete {
        return Some("without the runner's closing summary".to_owned());
    }
    (tests.executed == 0).then(|| "executed no test".to_owned())
}

/// Of one whose report is whole. What it printed for people at the same time is held against it.
fn contradiction(
    runner: &str,
    tests: &TestSummary,
    printed: Option<&TestSummary>,
) -> Option<String> {
    if tests.failed > 0 {
        let failed = tests.failed;
        return Some(format!(
            "the report of {runner} says that {failed} tests failed"
        ));
    }
    if tests.executed == 0 {
        return Some("executed no test".to_owned());
    }
    let printed = printed.filter(|printed| printed.complete && printed.failed > 0)?;
    let failed = printed.failed;
    Some(format!(
        "its output says that {failed} tests failed, of which the report of {runner} tells nothing"
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
    fn a_pass_needs_a_whole_report_that_agrees_and_at_least_one_test() {
        use Evidence::{ExitCode, MachineReport, Text};
        let whole = |passed, failed| ParsedReport::Complete(tests(passed, failed, true));
        let printed = |passed, failed| Some(tests(passed, failed, true));
        let broken = || ParsedReport::Unreadable("breaks off".to_owned());
        let cases = [
            (printed(2, 0), whole(2, 0), MachineReport, None),
            (None, whole(2, 0), MachineReport, None),
            (
                printed(2, 0),
                whole(1, 1),
                MachineReport,
                Some("1 tests failed"),
            ),
            (
                printed(1, 1),
                whole(2, 0),
                MachineReport,
                Some("report of pytest tells nothing"),
            ),
            (Some(tests(1, 1, false)), whole(2, 0), MachineReport, None),
            (None, whole(0, 0), MachineReport, Some("executed no test")),
            (
                printed(2, 0),
                ParsedReport::Missing,
                Text,
                Some("pytest wrote no report"),
            ),
            (printed(2, 0), broken(), Text, Some("breaks off")),
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
        for (printed, told, evidence, why) in cases {
            let case = format!("{printed:?} {told:?}");
            let weighed = assess("pytest", printed, told);
            assert_eq!(weighed.evidence, evidence, "{case}");
            let worthless = weighed.problem.unwrap_or_default();
            assert!(
                worthless.contains(why.unwrap_or_default()),
                "{case}: {worthless}"
            );
            assert_eq!(worthless.is_empty(), why.is_none(), "{case}: {worthless}");
        }
    }
}
