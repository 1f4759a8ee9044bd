//! Completes a report with what only the run knows: the results of the same checks in the baseline and in earlier
//! attempts. Results are never improved, with two exceptions that the report then states: a check that passed when run
//! again on the same bytes is flaky, and tests that failed before may be known failures, which are excused.

use std::collections::BTreeSet;

use super::known_failures;
use crate::comparison::message::fails_alike;
use crate::comparison::signature;
use crate::comparison::test_regression::{self, TestRegression};
use crate::flakiness::{self, FailureClass, RerunDecision, RerunResults};
use crate::model::{
    CheckReport, CheckStatus, CrossedResult, Evidence, FindingAction, KnownFailures, Report,
    ReportStatus, ReportSummary,
};
use crate::run::Run;

/// Completes a report, before it is journalled.
pub(super) fn complete_report(run: &Run, report: &mut Report) {
    let is_crossed = report.crossed.is_some();
    for (index, check) in report.checks.iter_mut().enumerate() {
        let before = run.baseline_of(index, check.kind, &check.target);
        apply_reruns(run.baseline_passed(index, check.kind, &check.target), check);
        compare_check(before, is_crossed, &run.spec.known_failures, check);
        let earlier = earlier_reports(run, index, check);
        let has_passed = earlier.iter().copied().any(is_passed) || before.is_some_and(is_passed);
        mark_regression(has_passed, before.into_iter().chain(earlier), check);
    }
    discard_unproven_fixes(report);
    ignore_own_modules(report, |index, check| {
        run.baseline_of(index, check.kind, &check.target)
    });
    summarize_report(report);
    if report.status == ReportStatus::Pass && report.still_failing().is_some() {
        report.status = ReportStatus::Fail;
    }
}

/// A project that is a test runner itself loads its own modules from the workspace in any case.
fn ignore_own_modules<'a>(
    report: &mut Report,
    before: impl Fn(usize, &CheckReport) -> Option<&'a CheckReport>,
) {
    let crossed = report.crossed.iter_mut().flat_map(|it| &mut it.checks);
    let checks = report.checks.iter_mut().enumerate();
    for (index, check) in checks.chain(crossed.enumerate()) {
        if let Some(before) = before(index, check) {
            let is_own = |module: &String| before.replaced_modules.contains(module);
            check.replaced_modules.retain(|module| !is_own(module));
        }
    }
}

/// A test that only passes with the attempt's version of it is not fixed.
fn discard_unproven_fixes(report: &mut Report) {
    let Some(crossed) = report
        .crossed
        .as_deref()
        .filter(|it| it.result != CrossedResult::Passed)
    else {
        return;
    };
    let unproven: BTreeSet<&String> = crossed
        .still_failing
        .iter()
        .chain(&crossed.undecided_tests)
        .collect();
    for (check, original) in report.checks.iter_mut().zip(&crossed.checks) {
        let passes = original.status == CheckStatus::Pass;
        let passed_with_original = |id: &String| match &original.tests {
            Some(tests) if tests.names_executed() => tests.passed_ids.ids.contains(id),
            tests => passes || tests.is_some(),
        };
        let is_proven = |id: &String| !unproven.contains(id) && passed_with_original(id);
        check.fixed_tests.retain(is_proven);
        check.marks.fixed &= passes;
    }
}

/// Completes a report by comparing it with the baseline, if there is one.
pub fn compare(
    baseline: &[Option<&CheckReport>],
    known_failures: &KnownFailures,
    report: &mut Report,
) {
    let is_crossed = report.crossed.is_some();
    for (index, check) in report.checks.iter_mut().enumerate() {
        let same =
            |before: &&CheckReport| before.kind == check.kind && before.target == check.target;
        let before = baseline.get(index).copied().flatten().filter(same);
        compare_check(before, is_crossed, known_failures, check);
        mark_regression(before.is_some_and(is_passed), before.into_iter(), check);
    }
    discard_unproven_fixes(report);
    ignore_own_modules(report, |index, _| baseline.get(index).copied().flatten());
    summarize_report(report);
}

fn compare_check(
    before: Option<&CheckReport>,
    is_crossed: bool,
    known_failures: &KnownFailures,
    check: &mut CheckReport,
) {
    let Some(before) = before else {
        known_failures::excuse_known_failures(known_failures, None, check);
        return;
    };
    check_test_regression(before, check);
    mark_preexisting(before, check);
    known_failures::excuse_known_failures(known_failures, Some(before), check);
    if !is_crossed {
        record_missing_tests(before, check);
    }
    compare_tests(before, check);
    check.marks.fixed = before.status.is_failure()
        && check.status == CheckStatus::Pass
        && !check.marks.flaky
        && !check.marks.missing
        && check.known_tests.is_empty();
}

/// Gives a failed check the status that its reruns show: a check that passed on the same bytes is flaky.
pub fn apply_reruns(baseline: Option<bool>, check: &mut CheckReport) {
    if !check.status.is_failure() || check.reruns.is_empty() {
        return;
    }
    let seen = RerunResults {
        attempt_tree: &check.reruns,
        base_tree: &check.baseline_reruns,
        baseline,
    };
    let count = |runs: &[bool]| (runs.iter().filter(|passed| !**passed).count(), runs.len());
    let (failed, runs) = count(&check.reruns);
    let (failed, runs) = (failed + 1, runs + 1);
    match flakiness::next_rerun(seen) {
        RerunDecision::Done(FailureClass::Flaky) => {
            check.status = CheckStatus::Pass;
            check.marks.flaky = true;
            check.reason = Some(format!(
                "flaky: failed {failed} of {runs} runs on the same files"
            ));
            check.digest = None;
        }
        RerunDecision::Done(FailureClass::NewlyFlaky) => {
            check.marks.flaky = true;
            let before = check.baseline_reruns.len() + 1;
            check.reason = Some(format!(
                "newly flaky: failed {failed} of {runs} runs on the same files, and 0 of {before} \
                 before the work began"
            ));
        }
        // Reruns are incomplete: a check that is not known to be flaky is not flaky.
        RerunDecision::Done(FailureClass::Broken)
        | RerunDecision::RerunOnAttempt
        | RerunDecision::RerunOnBase => {}
    }
}

fn check_test_regression(before: &CheckReport, check: &mut CheckReport) {
    let Some(tests) = before
        .tests
        .as_ref()
        .filter(|_| check.status == CheckStatus::Pass)
    else {
        return;
    };
    let now = check.tests.as_ref();
    // If a passing check has failed tests in its output, they are those of another runner.
    let is_misread = before.status == CheckStatus::Pass && tests.failed > 0;
    let found = (!is_misread).then(|| test_regression::find_contradiction(tests, now));
    let found = found.flatten();
    if let Some(found) = found.or_else(|| find_missing_report(before, check)) {
        check.status = CheckStatus::Fail;
        check.marks.weakened = true;
        check.reason = Some(found.reason);
        check.digest = (!found.tests.is_empty()).then(|| found.tests.join("\n"));
    }
}

/// Names the tests that a check no longer executes although nothing on the test side changed: a person decides.
fn record_missing_tests(before: &CheckReport, check: &mut CheckReport) {
    let Some(tests) = before
        .tests
        .as_ref()
        .filter(|_| check.status == CheckStatus::Pass)
    else {
        return;
    };
    let missing = test_regression::find_unexecuted(tests, check.tests.as_ref(), check.evidence);
    if let Some(missing) = missing {
        check.marks.missing = true;
        let others = check.reason.take().map(|reason| reason + "; ");
        check.reason = Some(others.unwrap_or_default() + &missing.reason);
        check.missing_tests = missing.tests;
    }
}

/// A runner that wrote a report before the work began must still write one: its human-readable output is easier to
/// forge.
fn find_missing_report(before: &CheckReport, now: &CheckReport) -> Option<TestRegression> {
    let reports = |check: &CheckReport| check.evidence == Some(Evidence::MachineReport);
    let is_lost = reports(before) && !reports(now);
    is_lost.then(|| {
        let reason = "exited with 0, but its test runner no longer wrote a report";
        reason.to_owned().into()
    })
}

/// Whether the ids of failed tests can be compared: both runs name all of them, in the same way.
pub(super) fn has_comparable_failures(before: &CheckReport, check: &CheckReport) -> bool {
    let (Some(then), Some(now)) = (&before.tests, &check.tests) else {
        return false;
    };
    then.has_same_readers(now) && then.names_failed() && now.names_failed()
}

/// Finds the tests that failed before and pass now, and those that still fail.
fn compare_tests(before: &CheckReport, check: &mut CheckReport) {
    let (Some(then), Some(now)) = (&before.tests, &check.tests) else {
        return;
    };
    if !has_comparable_failures(before, check) {
        return;
    }
    let failed_before: BTreeSet<String> = test_regression::ids(&then.failed_ids).collect();
    let failed_now: BTreeSet<String> = test_regression::ids(&now.failed_ids).collect();
    let passed_now: BTreeSet<String> = test_regression::ids(&now.passed_ids).collect();
    // If the runner does not name passed tests, a check that passes as a whole shows it.
    let is_fixed = |id: &&String| match test_regression::executed_ids(now) {
        Some(_) => passed_now.contains(*id),
        None => check.status == CheckStatus::Pass && !check.marks.missing,
    };
    let named = |ids: Vec<&String>| {
        ids.into_iter()
            .take(CheckReport::MAX_NAMED_TESTS)
            .cloned()
            .collect()
    };
    let fixed = named(failed_before.iter().filter(is_fixed).collect());
    let still = failed_before.intersection(&failed_now);
    let still = named(still.filter(|id| fails_alike(before, check, id)).collect());
    (check.fixed_tests, check.preexisting_tests) = (fixed, still);
}

fn mark_preexisting(before: &CheckReport, check: &mut CheckReport) {
    check.marks.preexisting = before.status.is_failure()
        && check.status.is_failure()
        && !check.marks.weakened
        && fails_as_before(before, check);
}

/// Whether all failures of a check also occurred before, with the same kind of message.
pub(super) fn fails_as_before(before: &CheckReport, check: &CheckReport) -> bool {
    let has_new_failure = match (&before.tests, &check.tests) {
        (Some(then), Some(now)) if has_comparable_failures(before, check) => {
            let failed: BTreeSet<String> = test_regression::ids(&then.failed_ids).collect();
            test_regression::ids(&now.failed_ids).any(|id| !failed.contains(&id))
        }
        _ => false,
    };
    !has_new_failure && signature::is_within(check, before)
}

fn is_passed(check: &CheckReport) -> bool {
    check.status == CheckStatus::Pass
}

/// The reports of a check after earlier attempts.
fn earlier_reports<'a>(run: &'a Run, index: usize, check: &CheckReport) -> Vec<&'a CheckReport> {
    let reports = run.verified_attempts();
    let checks = reports.filter_map(|(_, report)| report.checks.get(index));
    checks.filter(|it| it.target == check.target).collect()
}

/// Marks a check that fails and passed before, and names its tests that did.
fn mark_regression<'a>(
    has_passed: bool,
    earlier: impl Iterator<Item = &'a CheckReport>,
    check: &mut CheckReport,
) {
    if !check.status.is_failure() {
        return;
    }
    if let Some(now) = &check.tests {
        let failed: BTreeSet<String> = test_regression::ids(&now.failed_ids).collect();
        let summaries = earlier.filter_map(|report| report.tests.as_ref());
        let comparable = summaries.filter(|then| then.has_same_readers(now));
        let passed = comparable.flat_map(|then| test_regression::ids(&then.passed_ids));
        let regressed: BTreeSet<String> = passed.filter(|id| failed.contains(id)).collect();
        check.preexisting_tests.retain(|id| !regressed.contains(id));
        check.regressed_tests = regressed
            .into_iter()
            .take(CheckReport::MAX_NAMED_TESTS)
            .collect();
    }
    check.marks.regression = has_passed || !check.regressed_tests.is_empty();
}

/// Summarizes the report after its checks were evaluated.
fn summarize_report(report: &mut Report) {
    report.summary = ReportSummary::of(&report.checks);
    let refused = report.guard.as_ref().is_some_and(|guard| {
        let mut findings = guard.findings.iter();
        findings.any(|finding| finding.action == FindingAction::Fail)
    });
    report.status = match (report.status, report.summary) {
        (status @ (ReportStatus::Skip | ReportStatus::AutoPass), _) => status,
        (ReportStatus::Pass, _) if refused => ReportStatus::Fail,
        (ReportStatus::Timeout, ReportSummary { failed: 1.., .. }) => ReportStatus::Timeout,
        (_, ReportSummary { failed: 1.., .. }) => ReportStatus::Fail,
        (_, ReportSummary { errors: 1.., .. }) => ReportStatus::Error,
        // A plan of which nothing was checked has proved nothing.
        (_, ReportSummary { passed: 0, .. }) => ReportStatus::AutoPass,
        _ => ReportStatus::Pass,
    };
}

#[cfg(test)]
mod tests;
