//! Which commands of CI and git hooks become checks.

use super::{proposals, repository};
use crate::init::ci::{adopt, uncovered_comment};

/// Asserts the checks, each as `file: command`, and the commands that none covers.
#[track_caller]
fn check_adopted(files: &[(&str, &str)], expected: &[&str], expected_uncovered: &[&str]) {
    let mut adopted = proposals(files);
    let uncovered = adopt(&repository(files), &mut adopted);
    let adopted: Vec<_> = adopted
        .iter()
        .map(|proposal| format!("{}: {}", proposal.found_in, proposal.step.target))
        .collect();
    assert_eq!(adopted, expected);
    let uncovered: Vec<_> = uncovered.iter().map(|command| &command.run).collect();
    assert_eq!(uncovered, expected_uncovered);
}

const WORKFLOW: &str = ".github/workflows/ci.yml";

#[test]
fn github_steps_replace_and_complete_guesses() {
    let workflow = "\
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - run: rustup component add clippy
      - name: Lint
        run: cargo clippy --all-features -- -D warnings
      - run: |
          # Everything.
          cargo test --all-features
          cargo doc --no-deps
      - run: \"shellcheck scripts/run.sh\"
      - run: |
          if true; then
            cargo test --ignored
          fi
      - run: cargo test --target ${{ matrix.target }}
";
    check_adopted(
        &[("Cargo.toml", "[package]"), (WORKFLOW, workflow)],
        &[
            ".github/workflows/ci.yml: cargo test --all-features",
            ".github/workflows/ci.yml: cargo clippy --all-features -- -D warnings",
            "Cargo.toml: cargo fmt --check",
            ".github/workflows/ci.yml: shellcheck scripts/run.sh",
        ],
        &[
            "cargo doc --no-deps",
            "cargo test --target ${{ matrix.target }}",
        ],
    );
}

#[test]
fn tasks_that_run_all_checks_are_adopted() {
    let workflow = "\
- run: npm ci
- run: make -j2 ci
- run: npm run verify
- run: cargo xtask qa
- run: make release-notes
- run: cargo run check
";
    let adopted = [
        ".github/workflows/ci.yml: make -j2 ci",
        ".github/workflows/ci.yml: npm run verify",
        ".github/workflows/ci.yml: cargo xtask qa",
    ];
    check_adopted(
        &[(WORKFLOW, workflow)],
        &adopted,
        &["make release-notes", "cargo run check"],
    );
}

#[test]
fn gitlab_circleci_and_hook_commands_are_adopted() {
    let gitlab = "test:\n  script:\n    - npm ci\n    - make test\n";
    check_adopted(
        &[(".gitlab-ci.yml", gitlab)],
        &[".gitlab-ci.yml: make test"],
        &[],
    );
    let circle = "jobs:\n  a:\n    steps:\n      - checkout\n      - run:\n          name: x\n          command: tox\n";
    check_adopted(
        &[(".circleci/config.yml", circle)],
        &[".circleci/config.yml: tox"],
        &[],
    );
    check_adopted(
        &[
            (".husky/pre-push", "#!/bin/sh\nnpm run lint\n"),
            (".pre-commit-config.yaml", "repos: []"),
        ],
        &[
            ".husky/pre-push: npm run lint",
            ".pre-commit-config.yaml: pre-commit run --all-files",
        ],
        &[],
    );
}

/// `init` runs what it adopts.
#[test]
fn commands_with_other_effects_are_not_adopted() {
    let commands = [
        "./deploy.sh test",
        "ssh production pytest",
        "psql --dbname test",
        "npm test && ./finish",
        "pytest; ./finish",
        "pytest | tee log",
        "pytest > report",
        "pytest $(./options)",
        "pytest `./options`",
        "pytest $OPTIONS",
    ];
    let steps: Vec<_> = commands
        .iter()
        .map(|command| format!("- run: {command}\n"))
        .collect();
    let workflow = steps.concat();
    check_adopted(&[(WORKFLOW, workflow.as_str())], &[], &commands);
    check_adopted(&[(WORKFLOW, "- run: test -f dist/app.js\n")], &[], &[]);
}

#[test]
fn tool_is_found_behind_variables_and_interpreters() {
    let workflow = "\
- run: CI=1 DEBUG=0 npm run lint
- run: python3 -m pytest -q
- run: php vendor/bin/phpstan analyse
- run: ruff format --check .
";
    let adopted = [
        ".github/workflows/ci.yml: CI=1 DEBUG=0 npm run lint",
        ".github/workflows/ci.yml: python3 -m pytest -q",
        ".github/workflows/ci.yml: php vendor/bin/phpstan analyse",
        ".github/workflows/ci.yml: ruff format --check .",
    ];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &[]);
}

#[test]
fn pre_commit_of_ci_is_covered_by_its_check() {
    check_adopted(
        &[
            (WORKFLOW, "- run: pre-commit run --all-files\n"),
            (".pre-commit-config.yaml", "repos: []"),
        ],
        &[".pre-commit-config.yaml: pre-commit run --all-files"],
        &[],
    );
}

#[test]
fn uncovered_commands_cannot_add_settings() {
    let files = [(WORKFLOW, "- run: build\rx\n")];
    let uncovered = adopt(&repository(&files), &mut Vec::new());
    assert_eq!(
        uncovered_comment(&uncovered),
        "\n# CI also runs these commands, which no check above covers:\n\
         #   build x (.github/workflows/ci.yml)\n"
    );
    assert_eq!(uncovered_comment(&[]), "");
}

#[test]
fn ci_command_does_not_replace_a_guess_that_ci_also_runs() {
    let workflow =
        "jobs:\n  a:\n    steps:\n      - run: cargo miri test\n      - run: cargo test\n";
    check_adopted(
        &[("Cargo.toml", "[package]"), (WORKFLOW, workflow)],
        &[
            "Cargo.toml: cargo test",
            "Cargo.toml: cargo clippy --all-targets -- -D warnings",
            "Cargo.toml: cargo fmt --check",
        ],
        &["cargo miri test"],
    );
}

#[test]
fn guess_is_the_alternative_of_the_ci_command_that_replaces_it() {
    let workflow = "jobs:\n  a:\n    steps:\n      - run: uv run --group dev pytest tests/\n";
    let files = [
        ("pyproject.toml", "[tool.uv]\n[tool.pytest]\n"),
        (".venv/bin/pytest", ""),
        (WORKFLOW, workflow),
    ];
    let mut adopted = proposals(&files);
    adopt(&repository(&files), &mut adopted);
    let [tests] = adopted.as_slice() else {
        panic!("{adopted:?}");
    };
    assert_eq!(tests.step.target, "uv run --group dev pytest tests/");
    let alternatives: Vec<_> = tests
        .alternatives
        .iter()
        .map(|it| it.step.target.as_str())
        .collect();
    assert_eq!(
        alternatives,
        [
            ".venv/bin/pytest tests/",
            "uv run pytest",
            ".venv/bin/pytest"
        ]
    );
}
