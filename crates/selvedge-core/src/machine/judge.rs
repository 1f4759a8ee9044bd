//! A report completed with what only the run knows: what the baseline and the attempts before said
//! of the same checks. What was observed is never improved on, but in two cases that the report then
//! states: a check that passed on the same bytes when run again is flaky, and tests that failed
//! before may be tolerated by the task's own wish.

use std::collections::BTreeSet;

use super::floors::{self, TestRegression};
use super::signature;
use super::state::Run;
use crate::guard::Action;
use crate::model::{
    Baseline, CheckReport, CheckStatus, Evidence, KnownFailures, Report, ReportStatus,
    ReportSummary, StepKind,
};
use crate::triage::{self, Class, Next, Seen};

/// Tests that a report names as fixed or as failing before; enough for people.
const NAMED_TESTS: usize = 50;

/// Completes a report, before it is journalled.
pub(super) fn complete(run: &Run, report: &mut Report) {
    for (index, check) in report.checks.iter_mut().enumerate() {
        let before = run.baseline_of(index, check.kind, &check.target);
        triaged(run.baseline_passed(index, check.kind, &check.target), check);
        if let Some(before) = before {
            let spec = &run.spec;
            hold_to(before, &spec.description, spec.known_failures, check);
        }
        if check.status.is_failure() && (passed_at(before) || passed_earlier(run, index, check)) {
            check.marks.regression = true;
        }
    }
    sum_up(report);
}

/// Completes a report of work that no run watched, by what the same checks said before it.
pub fn compare(baseline: &Baseline, known_failures: KnownFailures, report: &mut Report) {
    for (index, check) in report.checks.iter_mut().enumerate() {
        let same =
            |before: &&CheckReport| before.kind == check.kind && before.target == check.target;
        let Some(before) = baseline.checks.get(index).filter(same) else {
            continue;
        };
        hold_to(before, "", known_failures, check);
        check.marks.regression = check.status.is_failure() && passed_at(Some(before));
    }
    sum_up(report);
}

fn hold_to(
    before: &CheckReport,
    task: &str,
    known_failures: KnownFailures,
    check: &mut CheckReport,
) {
    hold_to_floor(before, task, check);
    mark_preexisting(before, check);
    if known_failures == KnownFailures::Tolerate {
        tolerate(check);
    }
    note_missing_tests(before, task, check);
    compare_tests(before, check);
    check.marks.fixed = before.status.is_failure()
        && check.status == CheckStatus::Pass
        && !check.marks.flaky
        && !check.marks.missing;
}

/// What the reruns made of a failure.
fn triaged(baseline: Option<bool>, check: &mut CheckReport) {
    if !check.status.is_failure() || check.reruns.is_empty() {
        return;
    }
    let seen = Seen {
        here: &check.reruns,
        there: &check.baseline_reruns,
        baseline,
    };
    let count = |runs: &[bool]| (runs.iter().filter(|passed| !**passed).count(), runs.len());
    let (failed, runs) = count(&check.reruns);
    let (failed, runs) = (failed + 1, runs + 1);
    match triage::next(seen) {
        Next::Done(Class::Flaky) => {
            check.status = CheckStatus::Pass;
            check.marks.flaky = true;
            check.reason = Some(format!(
                "flaky: failed {failed} of {runs} runs on the same bytes"
            ));
            check.digest = None;
        }
        Next::Done(Class::NewlyFlaky) => {
            check.marks.flaky = true;
            let before = check.baseline_reruns.len() + 1;
            check.reason = Some(format!(
                "newly flaky: failed {failed} of {runs} runs on the same bytes, and 0 of {before} \
                 before the work began"
            ));
        }
        // Not seen to the end: what is not known to be a flake is no flake.
        Next::Done(Class::Broken) | Next::RunHere | Next::RunThere => {}
    }
}

fn hold_to_floor(before: &CheckReport, task: &str, check: &mut CheckReport) {
    let Some(tests) = before
        .tests
        .as_ref()
        .filter(|_| check.status == CheckStatus::Pass)
    else {
        return;
    };
    let now = check.tests.as_ref();
    let found = floors::find_contradiction(tests, now, check.evidence, task);
    if let Some(found) = found.or_else(|| weaker(before, check)) {
        check.status = CheckStatus::Fail;
        check.marks.weakened = true;
        check.reason = Some(found.reason);
        check.digest = (!found.tests.is_empty()).then(|| found.tests.join("\n"));
    }
}

/// Names the tests that are gone from a check that passes. It may be honest maintenance, so it is for a
/// person to decide, and never counts as an attempt to weaken the checks.
fn note_missing_tests(before: &CheckReport, task: &str, check: &mut CheckReport) {
    let Some(tests) = before
        .tests
        .as_ref()
        .filter(|_| check.status == CheckStatus::Pass)
    else {
        return;
    };
    let missing = floors::find_missing(tests, check.tests.as_ref(), check.evidence, task);
    if let Some(missing) = missing {
        check.marks.missing = true;
        let others = check.reason.take().map(|reason| reason + "; ");
        check.reason = Some(others.unwrap_or_default() + &missing.reason);
        check.missing_tests = missing.tests;
    }
}

/// A runner that wrote a report before the work began must still write one: what it prints for
/// people is easier to forge.
fn weaker(before: &CheckReport, now: &CheckReport) -> Option<TestRegression> {
    let reports = |check: &CheckReport| check.evidence == Some(Evidence::MachineReport);
    let told = reports(before) && !reports(now);
    told.then(|| {
        let reason = "exited with 0, but without the report that its test runner wrote before";
        reason.to_owned().into()
    })
}

/// Which tests failed before and pass now, and which fail still.
fn compare_tests(before: &CheckReport, check: &mut CheckReport) {
    let (Some(then), Some(now)) = (&before.tests, &check.tests) else {
        return;
    };
    let failed_before: BTreeSet<String> = floors::ids(&then.failed_ids).collect();
    let failed_now: BTreeSet<String> = floors::ids(&now.failed_ids).collect();
    let passed_now: BTreeSet<String> = floors::ids(&now.passed_ids).collect();
    // Where the runner does not name what passed, a check that passes as a whole says it.
    let is_fixed = |id: &&String| match floors::executed_ids(now) {
        Some(_) => passed_now.contains(*id),
        None => check.status == CheckStatus::Pass && !check.marks.missing,
    };
    let named = |ids: Vec<&String>| ids.into_iter().take(NAMED_TESTS).cloned().collect();
    let fixed = named(failed_before.iter().filter(is_fixed).collect());
    let still = named(failed_before.intersection(&failed_now).collect());
    (check.fixed_tests, check.preexisting_tests) = (fixed, still);
}

fn mark_preexisting(before: &CheckReport, check: &mut CheckReport) {
    check.marks.preexisting = before.status.is_failure()
        && check.status.is_failure()
        && !check.marks.weakened
        && signature::is_within(check, before);
}

/// Excuses a check that fails by nothing but tests that failed before, each known by its id.
fn tolerate(check: &mut CheckReport) {
    let Some(tests) = &check.tests else { return };
    let by_tests_alone = check.marks.preexisting
        && tests.complete
        && tests.failed_ids.is_whole()
        && tests.failed > 0
        && u64::try_from(tests.failed_ids.ids.len()).is_ok_and(|named| named >= tests.failed);
    if by_tests_alone {
        let count = tests.failed;
        check.status = CheckStatus::Pass;
        check.reason = Some(format!(
            "{count} known failures, tolerated as the task says"
        ));
        check.digest = None;
    }
}

fn passed_at(before: Option<&CheckReport>) -> bool {
    before.is_some_and(|before| before.status == CheckStatus::Pass)
}

fn passed_earlier(run: &Run, index: usize, check: &CheckReport) -> bool {
    run.reported().any(|(_, report)| {
        let same = report
            .checks
            .get(index)
            .filter(|it| it.target == check.target);
        same.is_some_and(|it| it.status == CheckStatus::Pass)
    })
}

/// The report as a whole, after its checks were judged.
fn sum_up(report: &mut Report) {
    report.summary = ReportSummary::of(&report.checks);
    let refused = report.guard.as_ref().is_some_and(|guard| {
        let mut findings = guard.findings.iter();
        findings.any(|finding| finding.action == Action::Fail)
    });
    report.status = match (report.status, report.summary) {
        (status @ (ReportStatus::Skip | ReportStatus::AutoPass), _) => status,
        (ReportStatus::Pass, _) if refused => ReportStatus::Fail,
        (ReportStatus::Timeout, ReportSummary { failed: 1.., .. }) => ReportStatus::Timeout,
        (_, ReportSummary { failed: 1.., .. }) => ReportStatus::Fail,
        (_, ReportSummary { errors: 1.., .. }) => ReportStatus::Error,
        // A plan of which nothing was looked at has proved nothing.
        (_, ReportSummary { passed: 0, .. }) => ReportStatus::AutoPass,
        _ => ReportStatus::Pass,
    };
}

impl Run {
    /// What the baseline said of the step at a place of the plan.
    pub fn baseline_of(&self, index: usize, kind: StepKind, target: &str) -> Option<&CheckReport> {
        let before = self.baseline.as_ref()?.checks.get(index)?;
        (before.kind == kind && before.target == target).then_some(before)
    }

    /// Whether that step passed before the agent began, where it can be looked at again on the tree
    /// of that time: for telling a new flake from an old one.
    pub fn baseline_passed(&self, index: usize, kind: StepKind, target: &str) -> Option<bool> {
        let before = self.baseline_of(index, kind, target)?;
        let judged = before.status == CheckStatus::Pass || before.status.is_failure();
        (judged && self.start_tree.is_some()).then_some(before.status == CheckStatus::Pass)
    }
}

#[cfg(test)]
mod tests {
    use selvedge_digest::{TestIds, TestSummary};

    use super::*;
    use crate::machine::tests::simulation::{World, report, spec};
    use crate::machine::{State, evolve};
    use crate::model::{Baseline, EffectId, Envelope, Event, RunId, Step, Timestamp, TreeId};

    fn check(status: CheckStatus, passed: &[&str], failed: &[&str]) -> CheckReport {
        let list = |ids: &[&str]| TestIds {
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
            omitted: 0,
        };
        let tests = TestSummary {
            executed: (passed.len() + failed.len()) as u64,
            passed: passed.len() as u64,
            failed: failed.len() as u64,
            complete: true,
            passed_ids: list(passed),
            failed_ids: list(failed),
            ..TestSummary::default()
        };
        CheckReport {
            tests: Some(tests),
            ..CheckReport::new(&Step::new(StepKind::TestPasses, "pytest"), status)
        }
    }

    /// A run whose start is kept, with this baseline.
    fn run(before: CheckReport, known_failures: KnownFailures) -> Run {
        let mut spec = spec(&World::default());
        spec.known_failures = known_failures;
        let baseline = Baseline {
            checks: vec![before],
            cached: 0,
            duration_ms: 1,
        };
        let created = Event::RunCreated {
            spec: Box::new(spec),
        };
        let baseline = Event::BaselineTaken {
            effect: EffectId(2),
            baseline: Box::new(baseline),
        };
        let state = (1..)
            .zip([created, baseline])
            .fold(State::default(), |state, (seq, event)| {
                let envelope = Envelope {
                    v: 1,
                    run_id: RunId::new(uuid::Uuid::from_u128(1)),
                    seq,
                    at: Timestamp::UNIX_EPOCH,
                    event,
                };
                evolve(state, &envelope)
            });
        let mut run = state.run.unwrap();
        run.start_tree = Some(TreeId::new("start"));
        run
    }

    fn judged(run: &Run, now: CheckReport) -> Report {
        let mut report = report(1, ReportStatus::Fail, None);
        report.checks = vec![now];
        complete(run, &mut report);
        report
    }

    use CheckStatus::{Fail, Pass};

    #[test]
    fn what_was_mended_is_named_and_what_failed_before_blocks_all_the_same() {
        let run = run(check(Fail, &["a"], &["b", "c"]), KnownFailures::Block);
        let report = judged(&run, check(Pass, &["a", "b", "c"], &[]));
        assert_eq!(report.status, ReportStatus::Pass);
        assert!(report.checks[0].marks.fixed);
        assert_eq!(report.checks[0].fixed_tests, ["b", "c"]);

        let report = judged(&run, check(Fail, &["a", "b"], &["c"]));
        assert_eq!(report.status, ReportStatus::Fail);
        assert!(report.checks[0].marks.preexisting);
        assert_eq!(report.checks[0].fixed_tests, ["b"]);
        assert_eq!(report.checks[0].preexisting_tests, ["c"]);
    }

    #[test]
    fn known_failures_are_tolerated_by_their_ids_alone() {
        let run = run(check(Fail, &["a"], &["b"]), KnownFailures::Tolerate);
        let failure = |id: &str| selvedge_digest::Failure {
            id: Some(id.into()),
            ..selvedge_digest::Failure::default()
        };
        let same = CheckReport {
            failures: vec![failure("b")],
            ..check(Fail, &["a"], &["b"])
        };
        assert_eq!(
            judged(&run, same.clone()).status,
            ReportStatus::Fail,
            "not told of before"
        );
        let mut run = run;
        let mut baseline = (**run.baseline.as_ref().unwrap()).clone();
        baseline.checks[0].failures = vec![failure("b")];
        run.baseline = Some(baseline.into());
        assert_eq!(judged(&run, same).status, ReportStatus::Pass);
        let other = CheckReport {
            failures: vec![failure("a")],
            ..check(Fail, &["b"], &["a"])
        };
        assert_eq!(judged(&run, other).status, ReportStatus::Fail);
    }

    #[test]
    fn missing_tests_leave_the_pass_to_a_person() {
        let run = run(check(Pass, &["a", "b"], &[]), KnownFailures::Block);
        let report = judged(&run, check(Pass, &["a"], &[]));
        assert_eq!(report.status, ReportStatus::Pass);
        assert_eq!(report.checks[0].missing_tests, ["b"]);
        let marks = report.checks[0].marks;
        assert!(marks.missing && !marks.weakened, "{marks:?}");
        let why = report.review_reason().unwrap();
        assert!(why.contains("is gone: b"), "{why}");
    }

    #[test]
    fn missing_tests_are_noted_beside_tolerated_failures() {
        let failing = |passed: &[&str]| CheckReport {
            failures: vec![selvedge_digest::Failure {
                id: Some("c".into()),
                ..selvedge_digest::Failure::default()
            }],
            ..check(Fail, passed, &["c"])
        };
        let run = run(failing(&["a", "b"]), KnownFailures::Tolerate);
        assert_eq!(judged(&run, failing(&["a", "b"])).review_reason(), None);
        let report = judged(&run, failing(&["a"]));
        assert_eq!(report.checks[0].missing_tests, ["b"]);
    }

    #[test]
    fn a_failing_test_that_was_deleted_is_not_fixed() {
        let run = run(check(Fail, &["a"], &["b"]), KnownFailures::Block);
        let checked = judged(&run, check(Pass, &["a"], &[])).checks.remove(0);
        assert!(checked.marks.missing && !checked.marks.fixed);
        assert_eq!(checked.fixed_tests, [""; 0]);
    }

    #[test]
    fn evidence_that_is_weaker_than_before_is_no_pass() {
        let by = |evidence| CheckReport {
            evidence: Some(evidence),
            ..check(Pass, &["a"], &[])
        };
        let run = run(by(Evidence::MachineReport), KnownFailures::Block);
        let same = judged(&run, by(Evidence::MachineReport));
        assert_eq!(same.status, ReportStatus::Pass);
        let weaker = judged(&run, by(Evidence::Text));
        assert_eq!(weaker.status, ReportStatus::Fail);
        assert!(weaker.checks[0].marks.weakened);
    }

    #[test]
    fn reruns_tell_a_flake_from_a_failure() {
        let run = run(check(Pass, &["a"], &[]), KnownFailures::Block);
        let seen = |here: &[bool], there: &[bool]| {
            let now = CheckReport {
                reruns: here.to_vec(),
                baseline_reruns: there.to_vec(),
                // Of the rerun that passed.
                ..check(Fail, &["a"], &[])
            };
            let check = judged(&run, now).checks.remove(0);
            (check.status, check.marks.flaky, check.marks.regression)
        };
        assert_eq!(seen(&[false, false], &[]), (Fail, false, true));
        assert_eq!(seen(&[true], &[true, false]), (Pass, true, false));
        let new = seen(&[true, false], &[true; 5]);
        assert_eq!(new, (Fail, true, true), "it did not flake before");
        assert_eq!(
            seen(&[true], &[]),
            (Fail, false, true),
            "not seen to the end"
        );
    }
}
