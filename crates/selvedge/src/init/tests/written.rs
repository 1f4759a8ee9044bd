//! The contents of the settings file.

use std::fs;
use std::time::Duration;

use selvedge_core::config::{ConfigLayer, FileOwner, ResolvedConfig, resolve};

use super::proposals;
use crate::init::document::{DEFAULT_TIMEOUT, settings_document};
use crate::init::write::WriteError;
use crate::init::{Trial, TriedProposal, detect, write};

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
fn a_monorepo_with_every_kind_of_trial() {
    let seconds = Duration::from_secs_f64;
    let tried = tried(|command| match command {
        "cargo test --workspace" => Trial::Passed {
            took: seconds(61.4),
        },
        "cargo fmt --all --check" => Trial::Failed {
            took: seconds(0.31),
            why: "exit code 1".to_owned(),
        },
        "go vet ./..." => Trial::TimedOut {
            limit: seconds(120.0),
        },
        "golangci-lint run ./..." => Trial::NotStarted {
            why: "program `golangci-lint` not found".to_owned(),
        },
        "npm test" => Trial::Skipped,
        _ => Trial::Passed { took: seconds(2.0) },
    });
    let text = settings_document(&tried, &[]);
    insta::assert_snapshot!(text);

    let resolved = read_back(&text);
    let started = tried
        .iter()
        .filter(|tried| !matches!(tried.trial, Trial::NotStarted { .. }));
    let steps: Vec<_> = started.map(|tried| tried.proposal.step.clone()).collect();
    assert_eq!(resolved.checks, steps);
}

#[test]
fn a_trial_is_read_from_the_checks_report() {
    let trial = |status: &str, exit_code: Option<i32>| {
        let report = serde_json::json!({
            "type": "command", "target": "x", "status": status, "reason": "because",
            "exit_code": exit_code, "duration_ms": 1500,
        });
        Trial::from_report(&serde_json::from_value(report).unwrap())
    };
    let (took, why) = (Duration::from_millis(1500), "because".to_owned());
    assert_eq!(trial("pass", Some(0)), Trial::Passed { took });
    assert_eq!(
        trial("fail", Some(1)),
        Trial::Failed {
            took,
            why: why.clone()
        }
    );
    assert_eq!(trial("timeout", None), Trial::TimedOut { limit: took });
    assert_eq!(trial("error", None), Trial::NotStarted { why });
    assert!(matches!(trial("fail", Some(127)), Trial::NotStarted { .. }));
}

#[test]
fn no_name_and_no_tools_words_can_add_a_setting() {
    let hostile = "x\n[[checks]]\nrun = \"true\"";
    let manifest = format!("{hostile}/go.mod");
    let tried = proposals(&[(manifest.as_str(), "")])
        .into_iter()
        .map(|proposal| {
            let trial = Trial::NotStarted {
                why: format!("no program\r{hostile}\nagent = 'x'"),
            };
            TriedProposal { proposal, trial }
        });
    let resolved = read_back(&settings_document(&tried.collect::<Vec<_>>(), &[]));
    assert_eq!(resolved.checks, []);
    assert_eq!(resolved.agent, "claude");
}

#[test]
fn nothing_found_is_said_and_still_a_valid_file() {
    let text = settings_document(&[], &[]);
    insta::assert_snapshot!(text);
    assert!(read_back(&text).checks.is_empty());
}

#[test]
fn quick_checks_leave_the_timeout_alone() {
    let tried = tried(|_| Trial::Passed {
        took: Duration::from_secs(1),
    });
    let text = settings_document(&tried, &[]);
    assert!(!text.contains("[verification]"));
    let default = resolve([]).unwrap().verification_timeout_ms;
    assert_eq!(Duration::from_millis(default), DEFAULT_TIMEOUT);
}

#[test]
fn a_file_that_is_there_stays_unless_forced() {
    let root = tempfile::tempdir().unwrap();
    let path = write(root.path(), &[], &[], false).unwrap();
    fs::write(&path, "# a person's work, longer than what is written").unwrap();
    let refused = write(root.path(), &[], &[], false).unwrap_err();
    assert!(matches!(refused, WriteError::Exists(ref existing) if *existing == path));
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("a person's work")
    );
    write(root.path(), &[], &[], true).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        settings_document(&[], &[])
    );
}

#[test]
fn setup_is_read_back_as_it_was_found() {
    let root = tempfile::tempdir().unwrap();
    let lines = |files: &[&str]| {
        for file in files {
            fs::write(root.path().join(file), "").unwrap();
        }
        let (_, setup) = detect(root.path());
        read_back(&settings_document(&[], &setup)).setup.run
    };
    assert_eq!(lines(&[]), [] as [&str; 0]);
    assert_eq!(lines(&["package-lock.json"]), ["npm ci"]);
    assert_eq!(
        lines(&["pnpm-lock.yaml", "uv.lock"]),
        ["pnpm install --frozen-lockfile", "uv sync --locked"]
    );
}
