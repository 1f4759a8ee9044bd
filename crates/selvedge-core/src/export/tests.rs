//! Snapshots of all formats for one rich report, and properties of every format.

mod hostile;

use std::path::Path;

use insta::assert_snapshot;
use selvedge_digest::{Failure, FailureKind};

use super::*;
use crate::machine::tests::simulation::report as bare;
use crate::model::{
    AttemptEnd, CheckMarks, CheckReport, CheckStatus, Cost, Finding, FindingAction, FindingKind,
    FindingSeverity, GateReport, GuardReport, Judgement, MicroUsd, Report, ReportStatus,
    ReportSummary, SessionOutcome, SessionStatus, Step, StepKind, Usage,
};

fn check(name: &str, status: CheckStatus, reason: &str) -> CheckReport {
    CheckReport {
        name: Some(name.to_owned()),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        duration_ms: 1_250,
        ..CheckReport::new(&Step::new(StepKind::Command, "make"), status)
    }
}

fn failure(file: &str, line: u32, summary: &str) -> Failure {
    Failure {
        kind: FailureKind::Compile,
        file: Some(file.to_owned()),
        line: Some(line),
        column: Some(7),
        code: Some("E0308".to_owned()),
        summary: summary.to_owned(),
        tool: Some("rustc".to_owned()),
        count: 1,
        ..Failure::default()
    }
}

fn with(checks: Vec<CheckReport>, status: ReportStatus) -> Report {
    Report {
        summary: ReportSummary::of(&checks),
        checks,
        duration_ms: 3_000,
        ..bare(1, status, None)
    }
}

/// A first attempt that fails in several ways.
fn failing() -> Report {
    let broken = CheckReport {
        failures: vec![
            failure("src/app.rs", 3, "mismatched types"),
            failure("src/app.rs", 9, "mismatched types"),
            failure("/usr/lib/rust/core.rs", 1, "not of this repository"),
        ],
        digest: Some("src/app.rs:3:7: mismatched types".to_owned()),
        output: "error[E0308]\u{1b}[31m: mismatched types\u{0}\n".to_owned(),
        marks: CheckMarks {
            regression: true,
            ..CheckMarks::default()
        },
        ..check("build", CheckStatus::Fail, "exited with 101")
    };
    let slow = check("slow", CheckStatus::Timeout, "not done within 5 s");
    let missing = check("lint", CheckStatus::Error, "no such program");
    with(vec![broken, slow, missing], ReportStatus::Fail)
}

/// A second attempt that passes, with remarks.
fn passing() -> Report {
    let known = CheckReport {
        failures: vec![Failure {
            kind: FailureKind::Test,
            id: Some("app::old".to_owned()),
            ..failure("tests/old.rs", 4, "old story")
        }],
        known_tests: vec!["app::old".to_owned()],
        marks: CheckMarks {
            preexisting: true,
            ..CheckMarks::default()
        },
        ..check(
            "tests",
            CheckStatus::Pass,
            "fails only with 1 known failure",
        )
    };
    let flaky = CheckReport {
        marks: CheckMarks {
            flaky: true,
            ..CheckMarks::default()
        },
        ..check(
            "net",
            CheckStatus::Pass,
            "flaky: failed 1 of 2 runs on the same files",
        )
    };
    let good = check("build", CheckStatus::Pass, "");
    Report {
        guard: Some(GuardReport::of(vec![Finding {
            path: "Makefile".to_owned(),
            line: Some(2),
            kind: FindingKind::EarlyExit,
            strength: FindingSeverity::Violation,
            what: "`|| true` makes the failure of `make` count for nothing".to_owned(),
            action: FindingAction::Revert,
        }])),
        gates: vec![GateReport {
            tier: 2,
            passed: Some(false),
            confidence: Some(0.8),
            feedback: Some("the greeting is hard-coded".to_owned()),
            judgements: vec![Judgement {
                judge: "one".to_owned(),
                issues: vec!["the greeting is hard-coded".to_owned()],
                ..Judgement::default()
            }],
            ..GateReport::default()
        }],
        ..with(vec![known, flaky, good], ReportStatus::Pass)
    }
}

fn attempt_summary<'a>(
    number: u32,
    session: &'a SessionOutcome,
    report: Option<&'a Report>,
) -> AttemptSummary<'a> {
    AttemptSummary {
        subtask: None,
        number: Some(number),
        began_at: jiff::Timestamp::UNIX_EPOCH,
        session: Some(session),
        end: Some(AttemptEnd::Report),
        report,
        accepted: None,
        steps: &[],
        workspace: None,
        is_current: report.is_some() && number == 2,
    }
}

fn account(category: ResultCategory, attempts: Vec<AttemptSummary<'_>>) -> ReportInput<'_> {
    ReportInput {
        title: "run 4f2a9c1e".to_owned(),
        task: Some("mend the build"),
        agent: Some("claude"),
        verdict: ReportVerdict {
            category,
            label: "max retries exhausted".to_owned(),
            reason: "checks still fail after 2 of 2 attempts".to_owned(),
        },
        attempts,
        cost: Some((Cost::reported(MicroUsd(42_300)), Usage::default())),
        warnings: Vec::new(),
        unrestorable_files: Vec::new(),
        unchanged: None,
    }
}

fn places(exists: &dyn Fn(&Path) -> bool) -> LocationResolver<'_> {
    LocationResolver {
        repository: Path::new("/repo"),
        workspace: Path::new("/repo/app"),
        exists,
    }
}

/// The only attempt of a run.
fn only<'a>(session: &'a SessionOutcome, report: Option<&'a Report>) -> AttemptSummary<'a> {
    AttemptSummary {
        number: Some(1),
        ..attempt_summary(2, session, report)
    }
}

/// All five formats.
fn forms(account: &ReportInput<'_>) -> [(&'static str, String); 5] {
    let places = places(&|path| path.ends_with("app/selvedge.toml"));
    [
        ("junit", junit(account)),
        ("sarif", sarif(account, &places, "0.0.0")),
        ("markdown", markdown(account)),
        ("github", github(account, &places)),
        ("gitlab", gitlab(account, &places)),
    ]
}

#[test]
fn export_of_failed_run() {
    let session = SessionOutcome::new(SessionStatus::Success);
    let (first, second) = (passing(), failing());
    let attempts = vec![
        attempt_summary(1, &session, Some(&first)),
        attempt_summary(2, &session, Some(&second)),
    ];
    for (name, text) in forms(&account(ResultCategory::NotVerified, attempts)) {
        assert_snapshot!(format!("failed_{name}"), text);
    }
}

#[test]
fn export_of_delivered_attempt() {
    let session = SessionOutcome::new(SessionStatus::Success);
    let (first, second) = (passing(), failing());
    let attempts = vec![
        attempt_summary(1, &session, Some(&first)),
        attempt_summary(2, &session, Some(&second)),
    ];
    let mut account = account(ResultCategory::NotVerified, attempts);
    account.attempts[0].is_current = true;
    account.attempts[1].is_current = false;
    for (name, text) in forms(&account).into_iter().skip(1) {
        assert_snapshot!(format!("delivered_{name}"), text);
    }
}

fn junit_counts(text: &str) -> [usize; 4] {
    let document = roxmltree::Document::parse(text).unwrap();
    ["testcase", "failure", "error", "skipped"].map(|name| {
        document
            .descendants()
            .filter(|node| node.has_tag_name(name))
            .count()
    })
}

#[test]
fn export_is_green_only_if_verified() {
    let session = SessionOutcome::new(SessionStatus::Success);
    let failed = SessionOutcome::failed(SessionStatus::Failed, "the model is gone");
    let good = with(
        vec![check("build", CheckStatus::Pass, "")],
        ReportStatus::Pass,
    );
    let nothing = with(Vec::new(), ReportStatus::AutoPass);
    let cut_off = AttemptSummary {
        session: None,
        end: None,
        ..only(&session, None)
    };
    for attempts in [
        vec![],
        vec![only(&session, Some(&good))],
        vec![only(&session, Some(&nothing))],
        vec![only(&failed, None)],
        vec![cut_off],
    ] {
        for category in [
            ResultCategory::NotVerified,
            ResultCategory::NotJudged,
            ResultCategory::Unchecked,
        ] {
            let account = account(category, attempts.clone());
            let [(_, junit), (_, sarif), _, (_, github), (_, gitlab)] = forms(&account);
            let [cases, failures, errors, skipped] = junit_counts(&junit);
            let (red, error, warning) = (failures + errors > 0, "\"error\"", "\"warning\"");
            if category == ResultCategory::Unchecked {
                assert!(skipped > 0 && cases > 0, "{junit}");
                assert!(sarif.contains(warning), "{sarif}");
                assert!(github.starts_with("::warning "), "{github}");
            } else {
                assert!(red, "{junit}");
                assert!(sarif.contains(error), "{sarif}");
                assert!(github.starts_with("::error "), "{github}");
            }
            assert!(gitlab.contains("fingerprint"), "{gitlab}");
        }
    }
    // Verified work is green.
    let account = account(ResultCategory::Verified, vec![only(&session, Some(&good))]);
    let [(_, junit), (_, sarif), _, (_, github), (_, gitlab)] = forms(&account);
    assert_eq!(junit_counts(&junit), [1, 0, 0, 0]);
    assert!(sarif.contains("\"results\": []"), "{sarif}");
    assert!(github.starts_with("::notice "), "{github}");
    assert_eq!(gitlab.trim(), "[]");
}

#[test]
fn export_of_needs_review_is_not_green() {
    let mut report = with(
        vec![check("build", CheckStatus::Pass, "")],
        ReportStatus::Pass,
    );
    report.guard = passing().guard;
    let findings = report
        .guard
        .iter_mut()
        .flat_map(|guard| &mut guard.findings);
    findings.for_each(|finding| finding.strength = FindingSeverity::Strong);
    let account = ReportInput::of_verification(&report, &[]);
    assert_eq!(account.verdict.label, "needs review");
    let [(_, junit), _, _, (_, github), _] = forms(&account);
    assert_eq!(junit_counts(&junit), [2, 1, 0, 0]);
    assert!(github.starts_with("::error "), "{github}");
}

#[test]
fn export_of_known_failure_is_not_a_pass() {
    let session = SessionOutcome::new(SessionStatus::Success);
    let mut report = passing();
    report.gates.clear();
    report.checks.truncate(1);
    let account = account(
        ResultCategory::Verified,
        vec![only(&session, Some(&report))],
    );
    let [
        (_, junit),
        (_, sarif),
        (_, markdown),
        (_, github),
        (_, gitlab),
    ] = forms(&account);
    assert_eq!(junit_counts(&junit), [1, 0, 0, 1]);
    assert!(sarif.contains("\"suppressions\""), "{sarif}");
    assert!(markdown.contains("⚠️ `tests`"), "{markdown}");
    assert!(github.contains("(known failure)"), "{github}");
    assert!(gitlab.contains("\"info\""), "{gitlab}");
}

#[test]
fn export_locations_are_relative_to_repository() {
    let there = [
        "/repo/app/src/lib.rs",
        "/repo/app/pkg/main.go",
        "/repo/lib.py",
    ];
    let exists = |path: &Path| there.contains(&path.to_str().unwrap());
    let places = places(&exists);
    let clone = Some(Path::new("/w/tree"));
    let mut step = Step::new(StepKind::Command, "go test");
    step.directory = Some("pkg".to_owned());
    for (file, step, wanted) in [
        ("src/lib.rs", None, Some("app/src/lib.rs")),
        ("./src/../src/lib.rs", None, Some("app/src/lib.rs")),
        ("/repo/app/src/lib.rs", None, Some("app/src/lib.rs")),
        ("main.go", Some(&step), Some("app/pkg/main.go")),
        // A tool that prints files relative to a directory other than its own.
        ("src/lib.rs", Some(&step), Some("app/src/lib.rs")),
        ("lib.py", Some(&step), Some("lib.py")),
        ("../lib.py", None, Some("lib.py")),
        // It does not exist: resolved from the directory of the check.
        ("gone.go", Some(&step), Some("app/pkg/gone.go")),
        // In the clone in which the check ran.
        ("/w/tree/src/lib.rs", Some(&step), Some("app/src/lib.rs")),
        ("/w/tree/../lib.py", None, Some("lib.py")),
        ("/w/tree/../../../etc/passwd", None, None),
        ("/w/elsewhere/src/lib.rs", None, None),
        ("/usr/include/stdio.h", None, None),
        ("../../etc/passwd", None, None),
        ("../../../../../etc/passwd", None, None),
        ("..", None, None),
    ] {
        assert_eq!(
            places.repository_path(file, step, clone).as_deref(),
            wanted,
            "{file}"
        );
    }
}
