//! Decides whether a run with the attempt's own test files can settle what the original tests alone cannot: a minimum
//! coverage, a package whose tests are all new, or a test that requires a test file for each source file.

use std::collections::BTreeSet;

use super::expected::named_failures;
use super::sides::{CrossedFile, ProjectSide};
use crate::comparison::message::is_about;
use crate::comparison::test_regression::{executed_ids, find_unexecuted, ids};
use crate::guard::Pattern;
use crate::model::{CheckReport, CheckStatus};
use selvedge_digest::strip_escapes;

/// Whether a file is a test file that only a test runner loads, by its name. Such a file may be added to the original
/// tests.
pub fn is_plain_test(file: &CrossedFile) -> bool {
    file.side == ProjectSide::Test && TEST_FILE.is_match(&file.path)
}

static TEST_FILE: Pattern = Pattern::new(concat!(
    r"(?:^|/)(?:test_\w+\.py|\w+_test\.(?:py|go|rb|exs)|test_\w+\.rb|\w+_spec\.rb|\w+Test\.(?:php|java|kt)",
    r"|[\w.-]+[._-](?:test|spec)\.[cm]?[jt]sx?)$",
));

/// Plain test files of the attempt.
#[derive(Debug, Clone, Default)]
pub struct AttemptsTests {
    /// Files that did not exist before.
    pub added: BTreeSet<String>,
    /// Files that existed before, and still do.
    pub edited: BTreeSet<String>,
}

impl AttemptsTests {
    /// Those that may let the failed checks of a run pass. If all original tests pass and only the coverage is too low,
    /// tests may also have been added to existing files.
    pub(super) fn that_may_settle(
        &self,
        baseline: &[Option<&CheckReport>],
        original: &[CheckReport],
    ) -> BTreeSet<String> {
        let failed = with_baseline(baseline, original).filter(|(_, check)| is_unsettled(check));
        let failed: Vec<_> = failed.collect();
        let all = |settles: fn(&CheckReport, &CheckReport) -> bool| {
            failed.iter().all(|(before, check)| {
                check.status == CheckStatus::Fail
                    && before.is_some_and(|before| settles(before, check))
            })
        };
        if all(|before, check| {
            fails_without_failed_test(before, check) && reports_only_coverage(check)
        }) {
            &self.added | &self.edited
        } else if all(|before, check| {
            fails_by_coverage(before, check)
                || finds_no_tests(check)
                || fails_beside_files(before, check)
        }) {
            self.added.clone()
        } else {
            BTreeSet::new()
        }
    }
}

/// Whether the run with the added test files settles the failed checks of the one without them.
pub(super) fn has_settled(
    baseline: &[Option<&CheckReport>],
    original: &[CheckReport],
    with_added: &[CheckReport],
) -> bool {
    let pairs = with_baseline(baseline, original).zip(with_added);
    let must_pass = |check: &CheckReport| named_failures(check).is_some() || finds_no_tests(check);
    let mut pairs = pairs.filter(|((_, check), _)| must_pass(check));
    pairs.all(|((before, _), now)| before.is_some_and(|before| passes_each_test(before, now)))
}

/// Whether the command fails although all original tests pass.
pub(super) fn fails_without_failed_test(before: &CheckReport, check: &CheckReport) -> bool {
    let (Some(then), Some(now)) = (&before.tests, &check.tests) else {
        return false;
    };
    now.complete
        && now.failed == 0
        && now.executed > 0
        && then.complete
        && find_unexecuted(then, Some(now), check.evidence).is_none()
}

fn reports_only_coverage(check: &CheckReport) -> bool {
    let mut failures = check.failures.iter();
    !check.failures.is_empty() && failures.all(|it| it.tool.as_deref() == Some("coverage"))
}

fn fails_by_coverage(before: &CheckReport, check: &CheckReport) -> bool {
    static COVERAGE: Pattern = Pattern::new(r"(?i)coverage");
    fails_without_failed_test(before, check) && COVERAGE.is_match(&check.output)
}

/// Whether no test failed, but a runner that isolates test files (Vitest, Jest) found none in one of several packages:
/// all tests of a new package are the attempt's.
fn finds_no_tests(check: &CheckReport) -> bool {
    static NO_TESTS: Pattern =
        Pattern::new(r"(?m)(?:^|: )No (?:test files|tests) found, exiting with code 1");
    let has_failed = check.tests.as_ref().is_none_or(|tests| tests.failed > 0);
    !has_failed && check.failures.is_empty() && NO_TESTS.is_match(&strip_escapes(&check.output))
}

/// Whether the only failed tests passed before, and ran in processes or module registries of their own, where an added
/// test file cannot influence them.
fn fails_beside_files(before: &CheckReport, check: &CheckReport) -> bool {
    let Some(failed) = named_failures(check) else {
        return false;
    };
    let passed: BTreeSet<String> = before
        .tests
        .iter()
        .flat_map(|it| ids(&it.passed_ids))
        .collect();
    let is_isolated = |id: &String| {
        let mut records = check.failures.iter().filter(|record| is_about(record, id));
        records.any(|record| {
            let tool = record.tool.as_deref();
            tool.is_some_and(|tool| matches!(tool, "node:test" | "jest" | "vitest"))
        })
    };
    let shares = ["mocha", "isolat", "runInBand"];
    failed
        .iter()
        .all(|id| passed.contains(id) && is_isolated(id))
        && !shares.iter().any(|word| check.target.contains(word))
}

fn passes_each_test(before: &CheckReport, now: &CheckReport) -> bool {
    let tests = before.tests.as_ref().zip(now.tests.as_ref());
    let Some((then, now)) = tests.filter(|(then, now)| then.has_same_readers(now)) else {
        return false;
    };
    let passed: BTreeSet<String> = ids(&now.passed_ids).collect();
    executed_ids(then).is_some_and(|then| then.is_subset(&passed))
}

fn is_unsettled(check: &CheckReport) -> bool {
    !matches!(check.status, CheckStatus::Pass | CheckStatus::Skip)
}

fn with_baseline<'a>(
    baseline: &'a [Option<&'a CheckReport>],
    checks: &'a [CheckReport],
) -> impl Iterator<Item = (Option<&'a CheckReport>, &'a CheckReport)> {
    let before = baseline.iter().copied().chain(std::iter::repeat(None));
    before.zip(checks)
}

#[cfg(test)]
mod tests {
    use selvedge_digest::Failure;

    use super::*;
    use crate::machine::tests::simulation::test_summary;
    use crate::model::{Step, StepKind};

    #[test]
    fn plain_test_by_its_name() {
        let is_plain = |path: &str| is_plain_test(&CrossedFile::removed(path.to_owned()));
        for path in [
            "tests/test_a.py",
            "a_test.go",
            "src/a.test.tsx",
            "spec/a_spec.rb",
            "tests/ATest.php",
        ] {
            assert!(is_plain(path), "{path}");
        }
        for path in [
            "conftest.py",
            "tests/__init__.py",
            "tests/json.py",
            "jest.config.js",
            "tests/run.sh",
            "pytest.ini",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }

    fn check(passed: &[&str], failed: &[&str], tool: &str, output: &str) -> CheckReport {
        let failure = |id: &&str| Failure {
            id: Some((*id).to_owned()),
            tool: Some(tool.to_owned()),
            ..Failure::default()
        };
        CheckReport {
            tests: Some(test_summary(passed, failed)),
            output: output.to_owned(),
            failures: failed.iter().map(failure).collect(),
            ..CheckReport::new(&Step::new(StepKind::Command, "npm test"), CheckStatus::Fail)
        }
    }

    #[test]
    fn added_tests_settle_coverage_and_isolated_tests_that_passed() {
        let before = check(&["a"], &["b"], "jest", "");
        let tests = AttemptsTests {
            added: BTreeSet::from(["c.test.js".to_owned()]),
            edited: BTreeSet::from(["a.test.js".to_owned()]),
        };
        let settling = |now: CheckReport| tests.that_may_settle(&[Some(&before)], &[now]).len();
        let settles = |now: CheckReport| settling(now) == 1;
        let low = "coverage threshold for lines (100%) not met";
        assert!(settles(check(&["a", "b"], &[], "jest", low)));
        assert!(settles(check(&["b"], &["a"], "node:test", "")));
        let no_tests = "No test files found, exiting with code 1";
        assert!(settles(check(&["a", "b"], &[], "vitest", no_tests)));
        assert!(settles(check(&["b"], &[], "vitest", no_tests)));
        assert!(!settles(check(&["b"], &["a"], "pytest", no_tests)));
        // Fails for another reason, has fewer tests, fails with the bug itself, or shares a process
        // between tests.
        assert!(!settles(check(&["a", "b"], &[], "jest", "smoke.sh failed")));
        assert!(!settles(check(&["b"], &[], "jest", low)));
        assert!(!settles(check(&["a"], &["b"], "node:test", low)));
        assert!(!settles(check(&["b"], &["a"], "pytest", "")));
        // Tests in existing files count if nothing but the coverage is reported.
        let mut too_low = check(&["a", "b"], &[], "jest", low);
        let reported = |tool: &str| Failure {
            tool: Some(tool.to_owned()),
            ..Failure::default()
        };
        too_low.failures = vec![reported("coverage")];
        assert_eq!(settling(too_low.clone()), 2);
        too_low.failures.push(reported("jest"));
        assert_eq!(settling(too_low), 1);
    }

    #[test]
    fn added_tests_leave_every_original_test_passing() {
        let before = check(&["a", "b"], &[], "jest", "");
        let original = [check(&["b"], &["a"], "jest", "")];
        let settled = |now| has_settled(&[Some(&before)], &original, &[now]);
        assert!(settled(check(&["a", "b", "c"], &[], "jest", "")));
        assert!(!settled(check(&["b", "c", "d"], &[], "jest", "")));
        let no_tests = "No tests found, exiting with code 1";
        let original = [check(&["b"], &[], "jest", no_tests)];
        let settled = |now| has_settled(&[Some(&before)], &original, &[now]);
        assert!(settled(check(&["a", "b", "c"], &[], "jest", "")));
        assert!(!settled(check(&["b", "c"], &[], "jest", "")));
    }
}
