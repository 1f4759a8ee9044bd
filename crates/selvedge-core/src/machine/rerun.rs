//! Decides which failures are worth a rerun, and what a run of only the failed tests shows.

use std::collections::BTreeSet;

use selvedge_digest::{Failure, FailureKind};

use super::baseline_comparison::{fails_as_before, has_comparable_failures};
use crate::comparison::message::{fails_alike, without_numbers};
use crate::comparison::static_analysis::is_static_analysis;
use crate::comparison::test_regression::{self, stable_id};
use crate::model::{CheckReport, CheckStatus};

/// Whether a check fails as it did before the work began, with the same messages: it is then not flaky. A check without
/// output does not count.
pub fn is_old_failure(before: &CheckReport, check: &CheckReport) -> bool {
    let says_the_same = || {
        let output = without_numbers(check.output.trim());
        !output.is_empty() && output == without_numbers(before.output.trim())
    };
    before.status == CheckStatus::Fail
        && check.status == CheckStatus::Fail
        && fails_as_before(before, check)
        && (!check.failures.is_empty() || says_the_same())
}

/// Whether the same files may have another result. Not if only sources are read (linters, type checkers, compilers), if
/// the command exited with 0 and its output does not suffice, or if it timed out and would time out again.
pub fn may_be_flaky(check: &CheckReport) -> bool {
    let is_of_sources = |failure: &Failure| {
        matches!(
            failure.kind,
            FailureKind::Compile | FailureKind::Type | FailureKind::Lint
        )
    };
    let only_reads = check.tests.is_none()
        && !check.failures.is_empty()
        && check.failures.iter().all(is_of_sources);
    check.status == CheckStatus::Fail
        && check.kind.executes()
        && check.exit_code != Some(0)
        && !only_reads
        && !is_static_analysis(&check.target)
}

/// The failed tests of a check, as its runner names them, without those that failed in the same way before.
pub fn new_failures(before: Option<&CheckReport>, check: &CheckReport) -> Vec<String> {
    let Some(tests) = &check.tests else {
        return Vec::new();
    };
    let before = before.filter(|before| has_comparable_failures(before, check));
    let then = before.and_then(|before| before.tests.as_ref());
    let failed: BTreeSet<String> = then.map_or_else(BTreeSet::new, |then| {
        test_regression::ids(&then.failed_ids).collect()
    });
    let is_old = |id: &str| {
        failed.contains(id) && before.is_some_and(|before| fails_alike(before, check, id))
    };
    let ids = tests.failed_ids.ids.iter();
    ids.filter(|id| !is_old(&stable_id(id))).cloned().collect()
}

/// Whether a run of only these tests shows that the check fails again: one of them fails in the same way. Any other
/// result, even a pass, may be caused by the selection.
pub fn fails_again(check: &CheckReport, again: &CheckReport, tests: &[String]) -> bool {
    let Some(found) = &again.tests else {
        return false;
    };
    let failed: BTreeSet<String> = test_regression::ids(&found.failed_ids).collect();
    let mut selected = tests.iter().map(|id| stable_id(id));
    again.status == CheckStatus::Fail
        && selected.any(|id| failed.contains(&id) && fails_alike(check, again, &id))
}

#[cfg(test)]
mod tests {
    use selvedge_digest::{TestIds, TestSummary};

    use super::*;
    use crate::model::{Step, StepKind};

    fn failing(failed: &[(&str, &str)]) -> CheckReport {
        let tests = TestSummary {
            executed: failed.len() as u64,
            failed: failed.len() as u64,
            failed_ids: TestIds {
                ids: failed.iter().map(|(id, _)| (*id).to_owned()).collect(),
                omitted: 0,
            },
            ..TestSummary::default()
        };
        let failures = failed.iter().map(|(id, summary)| Failure {
            id: Some((*id).to_owned()),
            summary: (*summary).to_owned(),
            ..Failure::default()
        });
        CheckReport {
            tests: Some(tests),
            failures: failures.collect(),
            ..CheckReport::new(
                &Step::new(StepKind::TestPasses, "pytest"),
                CheckStatus::Fail,
            )
        }
    }

    #[test]
    fn rerun_old_failure_has_same_message() {
        let before = failing(&[("a", "assert 1 == 2"), ("b", "KeyError: 'x'")]);
        assert!(is_old_failure(&before, &failing(&[("a", "assert 5 == 2")])));
        assert!(!is_old_failure(
            &before,
            &failing(&[("b", "KeyError: 'y'")])
        ));
        assert!(!is_old_failure(
            &before,
            &failing(&[("c", "assert 1 == 2")])
        ));
        let printing = |output: &str| CheckReport {
            output: output.to_owned(),
            ..CheckReport::new(&Step::new(StepKind::Command, "lint"), CheckStatus::Fail)
        };
        let before = printing("3 files\nbad name in 12 ms");
        assert!(is_old_failure(
            &before,
            &printing("3 files\nbad name in 9 ms")
        ));
        assert!(!is_old_failure(&before, &printing("bad type")));
        assert!(!is_old_failure(&printing(""), &printing("")));
    }

    #[test]
    fn rerun_of_selected_tests_shows_only_failures() {
        let before = failing(&[("old", "assert 1 == 2"), ("b", "assert 1 == 2")]);
        let now = failing(&[
            ("old", "assert 1 == 2"),
            ("b", "KeyError"),
            ("c", "timed out"),
        ]);
        let new = new_failures(Some(&before), &now);
        assert_eq!(new, ["b", "c"]);
        assert_eq!(new_failures(None, &now), ["old", "b", "c"]);
        assert!(fails_again(&now, &failing(&[("c", "timed out")]), &new));
        for other in [
            failing(&[("c", "no such database")]),
            failing(&[("old", "assert 1 == 2")]),
            failing(&[]),
            CheckReport {
                status: CheckStatus::Pass,
                ..failing(&[("c", "timed out")])
            },
        ] {
            assert!(!fails_again(&now, &other, &new), "{other:?}");
        }
    }

    #[test]
    fn rerun_of_sources_or_missing_evidence_cannot_help() {
        let check = |target: &str| CheckReport {
            exit_code: Some(1),
            ..CheckReport::new(&Step::new(StepKind::Command, target), CheckStatus::Fail)
        };
        assert!(may_be_flaky(&check("sh run.sh")));
        assert!(!may_be_flaky(&check("npx eslint .")));
        let mut silent = check("pytest");
        silent.exit_code = Some(0);
        assert!(!may_be_flaky(&silent));
        let mut broken = check("cargo build");
        broken.failures = vec![Failure {
            kind: FailureKind::Compile,
            ..Failure::default()
        }];
        assert!(!may_be_flaky(&broken));
        broken.failures.push(Failure::default());
        assert!(may_be_flaky(&broken));
    }
}
