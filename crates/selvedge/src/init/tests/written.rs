//! The contents of the settings file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use selvedge_core::config::{ConfigLayer, FileOwner, ResolvedConfig, resolve};
use selvedge_core::model::StepKind;
use selvedge_digest::{CommandStatus, Hints, analyse};

use super::proposals;
use crate::init::document::{DEFAULT_TIMEOUT, settings_document};
use crate::init::write::WriteError;
use crate::init::{Trial, TriedProposal, detect, try_proposals, write};

fn tried(trials: impl Fn(&str) -> Trial) -> Vec<TriedProposal> {
    let files = [
        ("Cargo.toml", "[workspace]"),
        ("backend/go.mod", ""),
        ("backend/.golangci.yml", ""),
        (
            "web \"ui\"/package.json",
            r#"{"scripts": {"test": "jest"}}"#,
        ),
    ];
    let tried = |proposal: super::Proposal| {
        let trial = trials(&proposal.step.target);
        TriedProposal { proposal, trial }
    };
    proposals(&files).into_iter().map(tried).collect()
}

fn read_back(text: &str) -> ResolvedConfig {
    let layer = ConfigLayer::file(FileOwner::Repository, "selvedge.toml", text.to_owned()).unwrap();
    let resolved = resolve([layer]).unwrap();
    assert_eq!(resolved.warnings, []);
    resolved
}

#[test]
fn written_file_of_monorepo_with_every_trial_result() {
    let seconds = Duration::from_secs_f64;
    let tried = tried(|command| match command {
        "cargo test --workspace" => Trial::Passed {
            took: seconds(61.4),
        },
        "cargo fmt --all --check" => Trial::Failed {
            took: seconds(0.31),
            why: "exit code 1".to_owned(),
            shows_tests: false,
            known_failures: vec!["format".to_owned()],
        },
        "go vet ./..." => Trial::TimedOut {
            limit: seconds(120.0),
        },
        "golangci-lint run ./..." => Trial::Unusable {
            why: "program `golangci-lint` not found".to_owned(),
            output: vec!["sh: golangci-lint: not found".to_owned()],
        },
        "npm test" => Trial::Skipped,
        _ => Trial::Passed { took: seconds(2.0) },
    });
    let text = settings_document(&tried, &[], |_| true);
    insta::assert_snapshot!(text);

    let resolved = read_back(&text);
    let active = tried.iter().filter(|tried| tried.is_active());
    let steps: Vec<_> = active.map(|tried| tried.proposal.step.clone()).collect();
    assert_eq!(resolved.checks, steps);
}

#[test]
fn trial_is_read_from_check_report() {
    let trial = |status: &str, exit_code: Option<i32>| trial("go.mod", status, exit_code, "");
    let (took, why) = (Duration::from_millis(1500), "because".to_owned());
    assert_eq!(trial("pass", Some(0)), Trial::Passed { took });
    assert_eq!(trial("timeout", None), Trial::TimedOut { limit: took });
    let unusable = Trial::Unusable {
        why,
        output: Vec::new(),
    };
    assert_eq!(trial("error", None), unusable);
    assert_eq!(trial("fail", Some(1)), unusable);
    assert!(matches!(trial("fail", Some(127)), Trial::Unusable { .. }));
}

/// The trial of the first check that this manifest suggests.
fn trial(manifest: &str, status: &str, exit_code: Option<i32>, output: &str) -> Trial {
    let failures = if output.contains("error[") {
        serde_json::json!([{"kind": "compile", "summary": "error", "count": 1, "source": "text"}])
    } else {
        serde_json::json!([])
    };
    let report = serde_json::json!({
        "type": "command", "target": "x", "status": status, "reason": "because",
        "exit_code": exit_code, "duration_ms": 1500, "output": output,
        "failures": failures,
    });
    trial_of(manifest, report)
}

/// The trial of the first check that this manifest suggests, by its report.
fn trial_of(manifest: &str, report: serde_json::Value) -> Trial {
    let report = serde_json::from_value(report).unwrap();
    let package = r#"{"scripts": {"test": "jest"}}"#;
    let files = [
        (manifest, package),
        ("pnpm-lock.yaml", ""),
        ("spec/a_spec.rb", ""),
    ];
    let proposal = &proposals(&files)[0];
    Trial::from_report(&report, proposal, Path::new("/nowhere"))
}

/// The report of a failed check with a log.
fn report_of(log: &str, exit_code: u8) -> serde_json::Value {
    let analysis = analyse(
        log.as_bytes(),
        Hints::default(),
        CommandStatus::Code(exit_code.into()),
    );
    serde_json::json!({
        "type": "test_passes", "target": "x", "status": "fail", "reason": "because",
        "exit_code": exit_code, "duration_ms": 1500, "output": log,
        "failures": analysis.failures, "tests": analysis.tests,
    })
}

#[test]
fn failure_in_code_is_active() {
    let compile = trial("go.mod", "fail", Some(1), "error[E0308]: mismatched types");
    let took = Duration::from_millis(1500);
    let failed = Trial::Failed {
        took,
        why: "because".to_owned(),
        shows_tests: true,
        known_failures: Vec::new(),
    };
    assert_eq!(compile, failed);
    let line = "ModuleNotFoundError: No module named 'flask'";
    let missing = trial("go.mod", "fail", Some(1), &format!("error[\n{line}"));
    assert_unusable(&missing, line);
    let make = "make: clang-tidy: No such file\nmake: *** [Makefile:28: lint] Error 127";
    let make = trial("go.mod", "fail", Some(2), &format!("error[\n{make}"));
    assert!(matches!(make, Trial::Unusable { .. }), "{make:?}");
    let own = "Error: Cannot find module './slug.js'";
    let own = trial("go.mod", "fail", Some(1), &format!("error[\n{own}"));
    assert!(matches!(own, Trial::Failed { .. }), "{own:?}");
}

#[track_caller]
fn assert_unusable(trial: &Trial, reason: &str) {
    let Trial::Unusable { why, .. } = trial else {
        panic!("{trial:?}");
    };
    assert_eq!(why, reason);
}

#[track_caller]
fn known_failures_of(trial: &Trial) -> &[String] {
    let Trial::Failed { known_failures, .. } = trial else {
        panic!("{trial:?}");
    };
    known_failures
}

fn failed_tests(ids: &[&str], passed: u64) -> serde_json::Value {
    serde_json::json!({
        "type": "test_passes", "target": "x", "status": "fail", "reason": "exited with 1",
        "exit_code": 1, "duration_ms": 1500, "output": "",
        "tests": {
            "executed": ids.len() as u64 + passed, "passed": passed, "failed": ids.len(),
            "complete": true, "failed_ids": {"ids": ids},
        },
    })
}

/// Listing a test check's label would excuse every test, and a file that is not loaded runs none.
#[test]
fn known_failures_are_only_ids_of_tests_that_ran() {
    let twice = trial_of("go.mod", failed_tests(&["a::b", "c::d", "a::b"], 5));
    assert_eq!(known_failures_of(&twice), ["a::b", "c::d"]);
    let not_loaded = trial_of("go.mod", failed_tests(&["tests/test_a.py", "b.py::c"], 5));
    assert_eq!(known_failures_of(&not_loaded), [] as [&str; 0]);
    let Trial::Failed { why, .. } = &not_loaded else {
        panic!("{not_loaded:?}");
    };
    let reason = "exited with 1; tests/test_a.py cannot be loaded: fix that first";
    assert_eq!(why, reason);
    let compile = trial("go.mod", "fail", Some(1), "error[E0308]: mismatched types");
    assert_eq!(known_failures_of(&compile), [] as [&str; 0]);
    let mut stopped = failed_tests(&["a::b"], 5);
    stopped["output"] = "error: test failed, to rerun pass `--test a`".into();
    let stopped = trial_of("go.mod", stopped);
    assert_eq!(known_failures_of(&stopped), [] as [&str; 0]);
    let Trial::Failed { why, .. } = &stopped else {
        panic!("{stopped:?}");
    };
    let reason = "cargo stopped at the first failing target: add --no-fail-fast";
    assert!(why.ends_with(reason), "{why}");
}

#[test]
fn tests_that_cannot_be_loaded_are_unusable() {
    let none = trial_of("go.mod", failed_tests(&["tests/test_a.py"], 0));
    assert_unusable(&none, "no test ran: tests/test_a.py");
    // The id in unittest's report, and the one in its output.
    let mut module = failed_tests(&["tests"], 0);
    module["failures"] = serde_json::json!([{
        "kind": "test", "tool": "unittest", "id": "unittest.loader._FailedTest.tests",
        "summary": "ImportError: no name x", "count": 1, "source": "text",
    }]);
    let module = trial_of("go.mod", module);
    assert_unusable(&module, "no test ran: ImportError: no name x");
    let ruby = "\
An error occurred while loading ./spec/a_spec.rb. - Did you mean?

Failure/Error: require 'nogem'

LoadError:
  cannot load such file -- nogem
# ./lib/a.rb:1:in `<top (required)>'
No examples found.

Finished in 0.00005 seconds (files took 0.26287 seconds to load)
0 examples, 0 failures, 1 error occurred outside of examples
";
    let ruby = trial_of("Gemfile", report_of(ruby, 1));
    let reason = "cannot load such file -- nogem; run `bundle install` first";
    assert_unusable(&ruby, reason);
    let class =
        "PHP Fatal error:  Uncaught Error: Class \"D\\Base\" not found in /p/test/BTest.php:2";
    let php = trial_of("composer.json", report_of(class, 255));
    let reason = format!("no test ran: {class}; run `composer install` first");
    assert_unusable(&php, &reason);
}

/// Also if its output names files.
#[test]
fn exit_without_evidence_of_tests_is_no_failure() {
    let output = "error[0] in src/lib.rs";
    let took = Duration::from_millis(1500);
    assert_eq!(
        trial("go.mod", "fail", Some(0), output),
        Trial::WithoutEvidence { took }
    );
    let mut none = failed_tests(&[], 0);
    none["exit_code"] = 0.into();
    none["reason"] = "ran no test".into();
    assert_unusable(&trial_of("go.mod", none), "ran no test");
}

#[test]
fn writing_into_dependencies_is_told_from_other_failures() {
    for line in [
        "Error: TS5033: Could not write file '/p/node_modules/vitest/x': EROFS: read-only file system",
        "error TS5012: Cannot read file /p/node_modules/.cache/xo/tsconfig.json: ENOENT: no such file",
    ] {
        let trial = trial("go.mod", "fail", Some(1), &format!("error[\n{line}"));
        let reason = "it writes into installed dependencies, which are read-only: ";
        assert_unusable(&trial, &format!("{reason}{line}"));
    }
}

#[test]
fn missing_dependency_names_install_command() {
    let trial = trial("package.json", "fail", Some(127), "sh: 1: jest: not found");
    let unusable = Trial::Unusable {
        why: "a required program is missing; run `pnpm install` first".to_owned(),
        output: vec!["sh: 1: jest: not found".to_owned()],
    };
    assert_eq!(trial, unusable);
}

#[test]
fn written_file_escapes_untrusted_text() {
    let hostile = "x\n[[checks]]\nrun = \"true\"";
    let manifest = format!("{hostile}/go.mod");
    let tried = proposals(&[(manifest.as_str(), "")])
        .into_iter()
        .map(|proposal| {
            let trial = Trial::Unusable {
                why: format!("no program\r{hostile}\nagent = 'x'"),
                output: vec![format!("\r{hostile}")],
            };
            TriedProposal { proposal, trial }
        });
    let resolved = read_back(&settings_document(&tried.collect::<Vec<_>>(), &[], |_| {
        true
    }));
    assert_eq!(resolved.checks, []);
    assert_eq!(resolved.agent, "claude");
}

#[test]
fn written_file_without_findings_is_valid() {
    let text = settings_document(&[], &[], |_| true);
    insta::assert_snapshot!(text);
    assert!(read_back(&text).checks.is_empty());
}

#[test]
fn written_file_keeps_timeout_of_quick_checks() {
    let tried = tried(|_| Trial::Passed {
        took: Duration::from_secs(1),
    });
    let text = settings_document(&tried, &[], |_| true);
    assert!(!text.contains("[verification]"));
    let default = resolve([]).unwrap().verification_timeout_ms;
    assert_eq!(Duration::from_millis(default), DEFAULT_TIMEOUT);
}

#[test]
fn written_file_replaces_existing_only_if_forced() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), &settings_document(&[], &[], |_| true), false).unwrap();
    fs::write(&path, "# a person's work, longer than what is written").unwrap();
    let refused = write(root.path(), &settings_document(&[], &[], |_| true), false).unwrap_err();
    assert!(matches!(refused, WriteError::Exists(ref existing) if *existing == path));
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("a person's work")
    );
    write(root.path(), &settings_document(&[], &[], |_| true), true).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        settings_document(&[], &[], |_| true)
    );
}

#[test]
fn written_file_setup_round_trip() {
    let root = tempfile::tempdir().unwrap();
    let lines = |files: &[&str]| {
        for file in files {
            fs::write(root.path().join(file), "").unwrap();
        }
        let (_, setup, _) = detect(root.path());
        read_back(&settings_document(&[], &setup, |_| true))
            .setup
            .run
    };
    assert_eq!(lines(&[]), [] as [&str; 0]);
    assert_eq!(lines(&["package-lock.json"]), ["npm ci"]);
    assert_eq!(
        lines(&["pnpm-lock.yaml", "uv.lock"]),
        ["pnpm install --frozen-lockfile", "uv sync --locked"]
    );
}

#[tokio::test]
async fn failing_tests_that_are_not_recognised_count_by_exit_code() {
    let log = "cc tests.c -o verify\n./verify\nFAILED: strings (at line 83)\nPASSED: 15\nmake: *** [Makefile:7: verify] Error 1\n";
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tests.c"), "").unwrap();
    let proposals = proposals(&[("Makefile", "test:\n\t./verify\n")]);
    let tried = try_proposals(proposals, async |proposal| {
        let report = serde_json::from_value(report_of(log, 2)).unwrap();
        Trial::from_report(&report, proposal, dir.path())
    });
    let tried = tried.await;
    assert_eq!(tried[0].proposal.step.kind, StepKind::Command);
    assert!(tried[0].is_active());
}

/// Of three commands for the same tests the first two print no known summary and the last one fails, also without one.
#[tokio::test]
async fn tests_that_exit_with_0_are_preferred_to_failing_ones_without_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = r#"{"test": "npm run test:unit", "test:unit": "borp --reporter=own"}"#;
    let package = format!(r#"{{"scripts": {scripts}, "devDependencies": {{"borp": "1"}}}}"#);
    let proposals = proposals(&[("package.json", &package)]);
    assert!(!proposals[0].alternatives.is_empty());
    let tried = try_proposals(proposals, async |proposal| {
        let is_runner = proposal.step.target.contains("node_modules");
        let mut report = report_of("passed: 1\n", u8::from(is_runner));
        report["status"] = "fail".into();
        Trial::from_report(
            &serde_json::from_value(report).unwrap(),
            proposal,
            dir.path(),
        )
    });
    let tried = tried.await;
    let active: Vec<_> = tried.iter().filter(|it| it.is_active()).collect();
    let [only] = active[..] else {
        panic!("{tried:?}");
    };
    assert_eq!(only.proposal.step.target, "npm test");
    assert_eq!(only.proposal.step.kind, StepKind::Command);
}

/// The linter that a script runs before the tests fails already.
#[tokio::test]
async fn runner_of_a_script_replaces_what_stops_before_the_tests() {
    let dir = tempfile::tempdir().unwrap();
    let package = r#"{"scripts": {"test": "xo && NODE_OPTIONS='--import=tsx' mocha -r x"}}"#;
    let files = [("package.json", package), ("node_modules/.bin/mocha", "")];
    let try_all = async |tests: &str| {
        let tried = try_proposals(proposals(&files), async |proposal| {
            let is_runner = proposal.step.target.ends_with("mocha -r x");
            let output = if is_runner {
                tests
            } else {
                "a.ts:1:1: error: no\n"
            };
            let mut report = report_of(output, u8::from(!is_runner));
            if is_runner {
                report["status"] = "pass".into();
            }
            Trial::from_report(
                &serde_json::from_value(report).unwrap(),
                proposal,
                dir.path(),
            )
        });
        let active = tried.await.into_iter().filter(TriedProposal::is_active);
        active.map(|it| it.proposal.step.target).collect::<Vec<_>>()
    };
    let runner = "NODE_OPTIONS='--import=tsx' node_modules/.bin/mocha -r x";
    assert_eq!(try_all("  2 passing (3ms)\n").await, [runner]);
}
