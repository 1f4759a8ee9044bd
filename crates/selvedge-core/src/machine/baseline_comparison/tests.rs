//! How reports are completed by the baseline, reruns and known failures.

use super::*;
use crate::machine::tests::simulation::{SimulatedWorld, report, spec, test_summary};
use crate::machine::{JournalState, evolve};
use crate::model::{Baseline, EffectId, Envelope, Event, RunId, Step, StepKind, Timestamp, TreeId};

fn check(status: CheckStatus, passed: &[&str], failed: &[&str]) -> CheckReport {
    CheckReport {
        tests: Some(test_summary(passed, failed)),
        ..CheckReport::new(&Step::new(StepKind::TestPasses, "pytest"), status)
    }
}

/// A run whose start is kept, with this baseline.
fn run(before: CheckReport, known_failures: &[&str]) -> Run {
    let mut spec = spec(&SimulatedWorld::default());
    spec.known_failures = KnownFailures::new(known_failures.iter().map(|&id| id.to_owned()));
    let baseline = Baseline {
        checks: vec![before],
        written_files: Vec::new(),
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
    let state =
        (1..)
            .zip([created, baseline])
            .fold(JournalState::default(), |state, (seq, event)| {
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
    run.start_tree = Some(TreeId::of_name("start"));
    run
}

fn judged(run: &Run, now: CheckReport) -> Report {
    let mut report = report(1, ReportStatus::Fail, None);
    report.checks = vec![now];
    complete_report(run, &mut report);
    report
}

use CheckStatus::{Fail, Pass};

#[test]
fn baseline_comparison_names_fixed_and_blocks_old_failures() {
    let run = run(check(Fail, &["a"], &["b", "c"]), &[]);
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
fn baseline_comparison_names_regressions_and_old_failures() {
    let before = failing(
        &["a", "d"],
        &[("b", "assert 0 == 3"), ("c", "KeyError: 'x'")],
    );
    let run = run(before, &[]);
    let now = failing(
        &["d"],
        &[
            ("a", "assert 1 == 2"),
            ("b", "assert 9 == 3"),
            ("c", "NameError: q"),
        ],
    );
    let report = judged(&run, now);
    let check = &report.checks[0];
    assert_eq!(check.regressed_tests, ["a"]);
    assert_eq!(check.preexisting_tests, ["b"]);
    assert!(check.marks.regression && !check.marks.preexisting);
    let marks = crate::describe::marks(check).unwrap();
    assert_eq!(
        marks,
        "a regression: this test passed before: a; failed before the work began as well: b"
    );
    let new = judged(
        &run,
        failing(
            &["a", "d"],
            &[("b", "assert 0 == 3"), ("e", "assert 0 == 3")],
        ),
    );
    let check = &new.checks[0];
    assert!(
        !check.marks.regression && !check.marks.preexisting,
        "it is new"
    );
}

#[test]
fn baseline_comparison_skips_tests_of_other_readers() {
    use selvedge_digest::TestReader;
    let read = |mode: &str, mut check: CheckReport| {
        let reader = TestReader {
            name: "pytest".to_owned(),
            mode: mode.to_owned(),
            names_passed: true,
            names_failed: true,
            names_skipped: true,
        };
        check.tests.as_mut().unwrap().readers = vec![reader];
        check
    };
    let before = read("verbose", check(Fail, &["t.py::a"], &["t.py::b", "c"]));
    let run = run(before, &[]);
    let compare = |mode: &str| {
        let now = read(mode, check(Fail, &["t.py::a", "t.py::b"], &["c"]));
        let check = judged(&run, now).checks.remove(0);
        (check.fixed_tests, check.preexisting_tests)
    };
    assert_eq!(
        compare("verbose"),
        (vec!["t.py::b".into()], vec!["c".into()])
    );
    assert_eq!(compare("text"), (Vec::new(), Vec::new()));
    let mut uncounted = read("verbose", check(Pass, &["t.py::a", "t.py::b", "c"], &[]));
    uncounted.tests.as_mut().unwrap().readers[0].names_failed = false;
    let check = judged(&run, uncounted).checks.remove(0);
    assert!(check.fixed_tests.is_empty() && check.marks.fixed);
}

#[test]
fn fixed_tests_that_are_not_all_named_are_described_as_such() {
    let mut fixed = check(Pass, &[], &[]);
    fixed.fixed_tests = vec!["t".to_owned(); 49];
    let one = crate::describe::fixed_tests(std::slice::from_ref(&fixed));
    assert_eq!(one.as_deref(), Some("49 failing tests fixed"));
    let mut more = fixed.clone();
    more.fixed_tests = vec!["t".to_owned(); CheckReport::MAX_NAMED_TESTS];
    let both = crate::describe::fixed_tests(&[fixed, more]);
    assert_eq!(both.as_deref(), Some("at least 99 failing tests fixed"));
}

/// A check with failed tests, with the summaries of their failures.
fn failing(passed: &[&str], failed: &[(&str, &str)]) -> CheckReport {
    let ids: Vec<&str> = failed.iter().map(|(id, _)| *id).collect();
    let failure = |(id, summary): &(&str, &str)| selvedge_digest::Failure {
        id: Some((*id).to_owned()),
        summary: (*summary).to_owned(),
        ..selvedge_digest::Failure::default()
    };
    CheckReport {
        failures: failed.iter().map(failure).collect(),
        ..check(Fail, passed, &ids)
    }
}

#[test]
fn known_failures_are_excused_if_unchanged() {
    let before = failing(&["a"], &[("b", "assert 0 == 3"), ("c", "KeyError: 'x'")]);
    let run = run(before, &["b", "c", "d", "a"]);
    let excused = |now: CheckReport| {
        let mut report = judged(&run, now);
        let check = report.checks.remove(0);
        (report.status, check.known_tests, check.marks.fixed)
    };
    let ids = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>();
    let same = failing(&["a"], &[("b", "assert 7 == 3"), ("c", "KeyError: 'x'")]);
    assert_eq!(
        excused(same.clone()),
        (ReportStatus::Pass, ids(&["b", "c"]), false)
    );
    let other_error = failing(&["a"], &[("b", "NameError: q"), ("c", "KeyError: 'x'")]);
    assert_eq!(
        excused(other_error),
        (ReportStatus::Fail, ids(&["c"]), false)
    );
    let passed_before = failing(&["c"], &[("b", "assert 0 == 3"), ("a", "assert 0 == 3")]);
    assert_eq!(
        excused(passed_before),
        (ReportStatus::Fail, ids(&["b"]), false)
    );
    let unlisted = failing(
        &["a", "c"],
        &[("b", "assert 0 == 3"), ("e", "assert 0 == 3")],
    );
    assert_eq!(excused(unlisted), (ReportStatus::Fail, ids(&["b"]), false));
    let touched = CheckReport {
        touched_tests: ids(&["b"]),
        ..same.clone()
    };
    assert_eq!(excused(touched), (ReportStatus::Fail, ids(&["c"]), false));
    let mut beside = same;
    beside.failures.push(selvedge_digest::Failure {
        summary: "coverage is below 90 %".to_owned(),
        ..selvedge_digest::Failure::default()
    });
    assert_eq!(
        excused(beside),
        (ReportStatus::Fail, ids(&["b", "c"]), false)
    );
}

#[test]
fn known_failures_of_check_without_ids_need_same_message() {
    let lint = |summary: &str| CheckReport {
        failures: vec![selvedge_digest::Failure {
            summary: summary.to_owned(),
            ..selvedge_digest::Failure::default()
        }],
        ..CheckReport::new(&Step::new(StepKind::Command, "lint"), Fail)
    };
    let run = run(lint("unused import"), &["lint"]);
    let same = judged(&run, lint("unused import"));
    assert_eq!(same.status, ReportStatus::Pass);
    assert_eq!(same.checks[0].known_tests, ["lint"]);
    assert_eq!(
        judged(&run, lint("unused variable")).status,
        ReportStatus::Fail
    );
    let silent = CheckReport {
        failures: Vec::new(),
        ..lint("")
    };
    assert_eq!(judged(&run, silent).status, ReportStatus::Fail);
}

#[test]
fn known_failures_that_stop_the_runner_are_not_excused() {
    let why = |now: CheckReport, known: &str| {
        let run = run(now.clone(), &[known]);
        let mut report = judged(&run, now);
        let check = report.checks.remove(0);
        assert_eq!(check.known_tests, [""; 0]);
        (report.status, check.reason.unwrap_or_default())
    };
    // pytest: one file cannot be imported, and no test is executed.
    let broken = ("test_b.py", "ModuleNotFoundError: No module named 'x'");
    let interrupted = CheckReport {
        exit_code: Some(2),
        output: "!!!! Interrupted: 1 error during collection !!!!\n".to_owned(),
        ..failing(&[], &[broken])
    };
    let (status, reason) = why(interrupted, "test_b.py");
    assert_eq!(status, ReportStatus::Fail);
    assert!(reason.contains("no other test was executed"), "{reason}");
    let stopped = CheckReport {
        output: "!!!! stopping after 1 failures !!!!\n".to_owned(),
        ..failing(&["a"], &[("b", "assert 0 == 3")])
    };
    let (status, reason) = why(stopped, "b");
    assert_eq!(status, ReportStatus::Fail);
    assert!(reason.contains("stopped the test runner"), "{reason}");
    // A test command that shows no tests, listed by its label.
    let silent = CheckReport {
        tests: None,
        ..failing(&[], &[broken])
    };
    let (status, reason) = why(silent, "pytest");
    assert_eq!(status, ReportStatus::Fail);
    assert!(reason.contains("shows no executed test"), "{reason}");
}

#[test]
fn missing_tests_need_review() {
    let run = run(check(Pass, &["a", "b"], &[]), &[]);
    let report = judged(&run, check(Pass, &["a"], &[]));
    assert_eq!(report.status, ReportStatus::Pass);
    assert_eq!(report.checks[0].missing_tests, ["b"]);
    let marks = report.checks[0].marks;
    assert!(marks.missing && !marks.weakened, "{marks:?}");
    let why = report.review_reason().unwrap();
    assert!(why.contains("is missing: b"), "{why}");
}

#[test]
fn baseline_comparison_accepts_old_failures_in_passing_output() {
    let inner = |failed: &[&str]| check(Pass, &["a"], failed);
    let before = run(inner(&["inner"]), &[]);
    let same = judged(&before, inner(&["inner"]));
    assert_eq!(same.status, ReportStatus::Pass);
    let clean = run(inner(&[]), &[]);
    assert_eq!(judged(&clean, inner(&["b"])).status, ReportStatus::Fail);
}

#[test]
fn replaced_runner_module_needs_review() {
    let from = |modules: &[&str]| CheckReport {
        replaced_modules: modules.iter().map(|&it| it.to_owned()).collect(),
        ..check(Pass, &["a"], &[])
    };
    let (own, planted) = ("pluggy from src/pluggy.py", "unittest from fake.py");
    let run = run(from(&[own]), &[]);
    assert_eq!(judged(&run, from(&[own])).review_reason(), None);
    let report = judged(&run, from(&[own, planted]));
    assert_eq!(report.status, ReportStatus::Pass);
    let why = report.review_reason().unwrap();
    assert!(
        why.ends_with(&format!("from the workspace: {planted}")),
        "{why}"
    );
}

#[test]
fn missing_tests_are_noted_with_known_failures() {
    let with = |passed: &[&str]| failing(passed, &[("c", "assert 0 == 3")]);
    let run = run(with(&["a", "b"]), &["c"]);
    assert_eq!(judged(&run, with(&["a", "b"])).review_reason(), None);
    let report = judged(&run, with(&["a"]));
    assert_eq!(report.checks[0].missing_tests, ["b"]);
}

#[test]
fn missing_tests_include_deleted_failures() {
    let run = run(check(Fail, &["a"], &["b"]), &[]);
    let checked = judged(&run, check(Pass, &["a"], &[])).checks.remove(0);
    assert!(checked.marks.missing && !checked.marks.fixed);
    assert_eq!(checked.fixed_tests, [""; 0]);
}

#[test]
fn weaker_evidence_is_not_a_pass() {
    let by = |evidence| CheckReport {
        evidence: Some(evidence),
        ..check(Pass, &["a"], &[])
    };
    let run = run(by(Evidence::MachineReport), &[]);
    let same = judged(&run, by(Evidence::MachineReport));
    assert_eq!(same.status, ReportStatus::Pass);
    let weaker = judged(&run, by(Evidence::Text));
    assert_eq!(weaker.status, ReportStatus::Fail);
    assert!(weaker.checks[0].marks.weakened);
}

#[test]
fn reruns_separate_flaky_from_failing() {
    let run = run(check(Pass, &["a"], &[]), &[]);
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
