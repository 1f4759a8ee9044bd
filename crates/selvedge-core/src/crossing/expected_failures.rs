//! Tests that are marked as expected failures, and pass with the attempt's work.

use std::collections::BTreeSet;

use super::expected::named_failures;
use crate::comparison::message::is_about;
use crate::comparison::test_regression;
use crate::format::counted;
use crate::guard::Pattern;
use crate::machine::find_stop_reason;
use crate::model::{CheckReport, CheckStatus};

/// The failed tests of a check whose bodies passed: the runner reports these expected failures of the baseline as
/// unexpectedly passed.
pub(super) fn unexpected_passes(
    before: Option<&CheckReport>,
    check: &CheckReport,
) -> BTreeSet<String> {
    let tests = before
        .and_then(|before| before.tests.as_ref())
        .zip(check.tests.as_ref());
    let Some((then, _)) = tests.filter(|(then, now)| then.has_same_readers(now)) else {
        return BTreeSet::new();
    };
    let executed: BTreeSet<String> = [&then.passed_ids, &then.failed_ids]
        .into_iter()
        .flat_map(test_regression::ids)
        .collect();
    let expected: BTreeSet<String> = test_regression::ids(&then.skipped_ids)
        .filter(|id| !executed.contains(id))
        .collect();
    let failed = named_failures(check).unwrap_or_default();
    let passed = |id: &&String| expected.contains(*id) && is_unexpected_pass(check, id);
    let passed: BTreeSet<String> = failed.iter().filter(passed).cloned().collect();
    // A skipped test may fail with any message. The work cannot write the output of the baseline.
    let marked = before.map_or(0, |before| count_expected_failures(&before.output));
    if passed.len() as u64 > marked {
        return BTreeSet::new();
    }
    passed
}

/// The number of expected failures in the closing line of pytest, unittest or RSpec.
fn count_expected_failures(output: &str) -> u64 {
    static CLOSING: Pattern =
        Pattern::new(r"(\d+) (?:xfailed|pending)\b|\bexpected failures=(\d+)");
    let Some(regex) = CLOSING.regex() else {
        return 0;
    };
    let last = regex.captures_iter(output).last();
    let count = last.and_then(|found| {
        let count = found.iter().skip(1).flatten().next()?;
        count.as_str().parse().ok()
    });
    count.unwrap_or(0)
}

/// Lets a check pass if it fails only with expected failures that pass now.
pub fn accept_unexpected_passes(before: Option<&CheckReport>, check: &mut CheckReport) {
    if check.status != CheckStatus::Fail || find_stop_reason(check).is_some() {
        return;
    }
    let passed = unexpected_passes(before, check);
    let failed = named_failures(check).unwrap_or_default();
    let is_only_cause = check
        .failures
        .iter()
        .all(|record| passed.iter().any(|id| is_about(record, id)));
    if !passed.is_empty() && passed == failed && is_only_cause {
        let count = counted(passed.len() as u64, "test");
        check.status = CheckStatus::Pass;
        check.reason = Some(format!("{count} marked as expected to fail passed"));
        check.digest = None;
    }
}

fn is_unexpected_pass(check: &CheckReport, id: &str) -> bool {
    let matches = |text: &str| UNEXPECTED_PASS.is_match(text);
    let mut records = check.failures.iter().filter(|record| is_about(record, id));
    let is_recorded = records
        .any(|record| matches(&record.summary) || record.message.as_deref().is_some_and(matches));
    // RSpec: `  1) C negative FIXED`, for the id `spec/c_spec.rb > C negative`.
    let name = id.split_once(" > ").map_or(id, |(_, name)| name);
    let is_fixed = |line: &str| {
        let entry = line.trim().strip_suffix(" FIXED");
        let entry = entry.and_then(|entry| entry.split_once(") "));
        entry.is_some_and(|(number, title)| {
            title == name && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    is_recorded || check.output.lines().any(is_fixed)
}

/// pytest's strict xfail, unittest's `expectedFailure`, and RSpec's `pending`.
static UNEXPECTED_PASS: Pattern = Pattern::new(
    r"^(?:\[XPASS\(strict\)\]|[Uu]nexpected success|Expected pending .{0,400} to fail\. No error was raised)",
);

#[cfg(test)]
mod tests {
    use selvedge_digest::{Failure, TestIds, TestSummary};

    use super::*;
    use crate::model::{Step, StepKind};

    fn check(status: CheckStatus, failed: &[&str], skipped: &[&str], why: &str) -> CheckReport {
        let list = |ids: &[&str]| TestIds {
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
            omitted: 0,
        };
        let tests = TestSummary {
            executed: failed.len() as u64 + 1,
            passed: 1,
            failed: failed.len() as u64,
            skipped: skipped.len() as u64,
            complete: true,
            passed_ids: list(&["a"]),
            failed_ids: list(failed),
            skipped_ids: list(skipped),
            ..TestSummary::default()
        };
        let failure = |id: &&str| Failure {
            id: Some((*id).to_owned()),
            summary: why.to_owned(),
            ..Failure::default()
        };
        CheckReport {
            tests: Some(tests),
            failures: failed.iter().map(failure).collect(),
            ..CheckReport::new(&Step::new(StepKind::TestPasses, "pytest"), status)
        }
    }

    #[test]
    fn unexpected_pass_needs_expected_failure_before() {
        let xpass = "[XPASS(strict)] bug 12";
        let skipped = check(CheckStatus::Pass, &[], &["b"], "");
        let before = CheckReport {
            output: "==== 1 passed, 1 xfailed in 0.01s ====".to_owned(),
            ..skipped.clone()
        };
        let accepted = |before: &CheckReport, mut now: CheckReport| {
            accept_unexpected_passes(Some(before), &mut now);
            now.status == CheckStatus::Pass
        };
        assert!(accepted(
            &before,
            check(CheckStatus::Fail, &["b"], &[], xpass)
        ));
        assert!(accepted(
            &before,
            check(CheckStatus::Fail, &["b"], &[], "unexpected success")
        ));
        // The baseline had only a skipped test, it fails for another reason, or another test fails as well.
        assert!(!accepted(
            &skipped,
            check(CheckStatus::Fail, &["b"], &[], xpass)
        ));
        let failing = check(CheckStatus::Fail, &["b"], &[], "assert 1 == 2");
        assert!(!accepted(
            &failing,
            check(CheckStatus::Fail, &["b"], &[], xpass)
        ));
        assert!(!accepted(&before, failing));
        let error = check(CheckStatus::Fail, &["b"], &[], "E: [XPASS(strict)]");
        assert!(!accepted(&before, error));
        assert!(!accepted(
            &before,
            check(CheckStatus::Fail, &["a", "b"], &[], xpass)
        ));
    }

    #[test]
    fn unexpected_pass_of_pending_example() {
        let id = "spec/c_spec.rb > C negative";
        let before = CheckReport {
            output: "2 examples, 0 failures, 1 pending".to_owned(),
            ..check(CheckStatus::Pass, &[], &[id], "")
        };
        let mut now = CheckReport {
            failures: Vec::new(),
            output: "Failures:\n\n  1) C negative FIXED\n".to_owned(),
            ..check(CheckStatus::Fail, &[id], &[], "")
        };
        accept_unexpected_passes(Some(&before), &mut now);
        assert_eq!(now.status, CheckStatus::Pass);
    }
}
