//! Which commands of CI and git hooks become checks.

use std::time::Duration;

use super::{proposals, repository};
use crate::init::ci::{UncoveredCi, adopt, uncovered_comment};
use crate::init::overlap::note_containing_commands;
use crate::init::{Trial, try_proposals};

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
    let uncovered = uncovered.commands.iter().map(|command| &command.run);
    let uncovered: Vec<_> = uncovered.collect();
    assert_eq!(uncovered, expected_uncovered);
}

const WORKFLOW: &str = ".github/workflows/ci.yml";

/// What fails here and passes with the variables that CI sets is written with them; no other check is.
#[tokio::test]
async fn variables_of_ci_are_used_where_a_check_needs_them() {
    let workflow = "\
env:
  LANG: en_US.utf8
  CARGO_TERM_COLOR: always
jobs:
  test:
    env:
      TZ: America/New_York
      TOKEN: ${{ secrets.TOKEN }}
    steps:
      - run: npm run test
        env:
          LANG: 'de DE'
      - run: npm run lint
";
    let package = r#"{"scripts": {"test": "jest", "lint": "eslint ."}}"#;
    let files = [("package.json", package), (WORKFLOW, workflow)];
    let mut adopted = proposals(&files);
    adopt(&repository(&files), &mut adopted);
    let took = Duration::ZERO;
    let failed = || Trial::Failed {
        took,
        why: "exited with 1".to_owned(),
        shows_tests: true,
        known_failures: Vec::new(),
    };
    let tried = try_proposals(adopted.clone(), async |proposal| {
        let target = &proposal.step.target;
        if target.contains("TZ=America/New_York") || target.contains("lint") {
            Trial::Passed { took }
        } else {
            failed()
        }
    });
    let tried = tried.await;
    let targets: Vec<_> = tried
        .iter()
        .map(|it| it.proposal.step.target.as_str())
        .collect();
    assert_eq!(
        targets,
        [
            "LANG='de DE' TZ=America/New_York npm run test",
            "npm run lint"
        ]
    );
    let fails_anyway = try_proposals(adopted, async |_| failed()).await;
    assert_eq!(fails_anyway[0].proposal.step.target, "npm run test");
}

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
            "cargo test --ignored",
        ],
    );
}

#[test]
fn yaml_is_read_as_yaml() {
    let workflow = "\
on: push
jobs:
  test:
    steps:
      - run: cargo clippy  # -- -D warnings
      - run: >-
          npm run
          check:types
      - run: &tests |-
          npm run test:ci   # style
          ruff check \\
            src
      - {name: flow, run: 'shellcheck run.sh'}
      - run: *tests
      - run: |2
            tox
";
    let adopted = [
        ".github/workflows/ci.yml: cargo clippy",
        ".github/workflows/ci.yml: npm run check:types",
        ".github/workflows/ci.yml: npm run test:ci",
        ".github/workflows/ci.yml: ruff check src",
        ".github/workflows/ci.yml: shellcheck run.sh",
        ".github/workflows/ci.yml: tox",
    ];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &[]);
    let deep = format!("a: {}\n", "[".repeat(100_000));
    check_adopted(&[(WORKFLOW, deep.as_str())], &[], &[]);
    let deep = format!("{}x\n", "- ".repeat(1000));
    check_adopted(&[(WORKFLOW, deep.as_str())], &[], &[]);
}

#[test]
fn directory_of_a_step_is_that_of_its_check() {
    let workflow = "\
jobs:
  a:
    defaults:
      run:
        working-directory: ./web/
    steps:
      - run: npm test
      - run: make lint
        working-directory: .
      - run: tox
        working-directory: ${{ matrix.folder }}
  b:
    steps:
      - run: make typecheck
      - run: ruff check .
        working-directory: tools
";
    let files = [
        (WORKFLOW, workflow),
        ("web/index.js", ""),
        ("tools/x.py", ""),
    ];
    let mut adopted = proposals(&files);
    let uncovered = adopt(&repository(&files), &mut adopted);
    let adopted: Vec<_> = adopted
        .iter()
        .map(|it| (it.step.target.as_str(), it.step.directory.as_deref()))
        .collect();
    assert_eq!(
        adopted,
        [
            ("npm test", Some("web")),
            ("make lint", None),
            ("make typecheck", None),
            ("ruff check .", Some("tools")),
        ]
    );
    let comment = uncovered_comment(&uncovered);
    assert!(
        comment.contains("#   tox (in ${{ matrix.folder }}, .github/workflows/ci.yml)"),
        "{comment}"
    );
}

#[test]
fn commands_for_the_installed_tool_are_adopted_or_listed() {
    let python = [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        (".venv/bin/pytest", ""),
        ("src/x.py", ""),
        ("tests/test_x.py", ""),
    ];
    let check = |workflow: &str, expected: &[&str], uncovered: &[&str]| {
        let files = [&python[..], &[(WORKFLOW, workflow)]].concat();
        check_adopted(&files, expected, uncovered);
    };
    check(
        "- run: pytest --doctest-modules src\n- run: pytest bench/\n",
        &["pyproject.toml: .venv/bin/pytest"],
        &["pytest --doctest-modules src", "pytest bench/"],
    );
    check(
        "- run: pytest -q tests\n- run: python -m pytest -q tests\n",
        &[".github/workflows/ci.yml: .venv/bin/pytest -q tests"],
        &[],
    );
    check(
        "- run: python -m pytest\n- run: pytest --slow\n",
        &["pyproject.toml: .venv/bin/pytest"],
        &["pytest --slow"],
    );
    let tools = [(".venv/bin/python", ""), (".venv/bin/mypy", "")];
    let workflow = "- run: python -m unittest\n- run: MYPYPATH=src mypy src\n- run: ruff check\n";
    check_adopted(
        &[&tools[..], &[(WORKFLOW, workflow)]].concat(),
        &[
            ".github/workflows/ci.yml: .venv/bin/python -m unittest",
            ".github/workflows/ci.yml: MYPYPATH=src .venv/bin/mypy src",
            ".github/workflows/ci.yml: ruff check",
        ],
        &[],
    );
    let package = ("package.json", r#"{"scripts": {"test": "jest"}}"#);
    check_adopted(
        &[package, (WORKFLOW, "- run: yarn test\n- run: make test\n")],
        &["package.json: npm test"],
        &["make test"],
    );
}

#[test]
fn alternative_that_ci_runs_is_first() {
    let files = [
        ("Gemfile", "gem 'rspec'"),
        ("Rakefile", "task \"spec\" do"),
        (WORKFLOW, "- run: bundle exec rake spec\n"),
    ];
    check_adopted(&files, &["Rakefile: bundle exec rake spec"], &[]);
}

#[test]
fn scripts_with_several_parts_and_node_tests_are_adopted() {
    let workflow = "\
- run: npm run test:unit
- run: npm run check:format
- run: npm run lint:css
- run: node --test test/
- run: npm run lint:fix
- run: npm run build:all
";
    let adopted = [
        ".github/workflows/ci.yml: npm run test:unit",
        ".github/workflows/ci.yml: npm run check:format",
        ".github/workflows/ci.yml: npm run lint:css",
        ".github/workflows/ci.yml: node --test test/",
    ];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &["npm run build:all"]);
}

/// A job may run one tool for each value of its matrix; versions and platforms are no tools.
#[test]
fn tools_of_a_matrix_are_adopted() {
    let workflow = "\
jobs:
  check:
    strategy:
      matrix:
        tool: [mypy]
        include:
          - tool: pytest
          - python: '3.12'
        os: [ubuntu-latest]
    steps:
      - run: uv run ${{ matrix.tool }}
      - run: tox -e ${{ matrix.python }}
      - run: make report-${{ matrix.tool }}
";
    let adopted = [
        ".github/workflows/ci.yml: uv run mypy",
        ".github/workflows/ci.yml: uv run pytest",
    ];
    let uncovered = [
        "tox -e ${{ matrix.python }}",
        "make report-${{ matrix.tool }}",
    ];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &uncovered);
}

#[test]
fn preparations_are_not_listed() {
    let workflow = "\
- run: cargo generate-lockfile
- run: VERSION=$(cat version)
- run: FOO=bar
- run: printf '%s' x >> \"$GITHUB_OUTPUT\"
- run: jq . report.json
- run: coverage xml
- run: codecov --flags unit
- run: printf 'https://example.org' | sudo tee /etc/apt/mirrors.txt
- run: threads=`nproc`
- run: $threads = (Get-CimInstance Win32_ComputerSystem).NumberOfLogicalProcessors
- run: ${{ matrix.install }}
- run: result='no regressions were detected'
- run: mapfile -t names < names.txt
- run: echo
- run: true || ! git cat-file -e HEAD
- run: coverage run -m pytest
";
    let adopted = [".github/workflows/ci.yml: coverage run -m pytest"];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &[]);
}

#[test]
fn checks_that_others_contain_are_noted() {
    let package = r#"{
        "scripts": {
            "test": "npm run lint && run-s types && node --test",
            "lint": "eslint src",
            "types": "tsc --noEmit"
        }
    }"#;
    let makefile = "test:\n\tgo test ./...\nlint:\n\tgo vet ./...\nci: lint test\n";
    let contained = |files: &[(&str, &str)]| {
        let mut adopted = proposals(files);
        let mut uncovered = adopt(&repository(files), &mut adopted);
        note_containing_commands(&repository(files), &mut adopted, &mut uncovered);
        let noted = adopted
            .iter()
            .filter(|proposal| !proposal.contained_in.is_empty());
        let noted = noted.map(|it| (&it.step.target, &it.contained_in));
        let others = uncovered
            .commands
            .iter()
            .map(|it| (&it.run, &it.contained_in));
        let others = others.filter(|(_, by)| !by.is_empty());
        let noted = noted.chain(others);
        let noted = noted.map(|(run, by)| format!("{run} < {}", by.join(", ")));
        noted.collect::<Vec<_>>()
    };
    let workflow = "- run: eslint --max-warnings 0 .\n";
    assert_eq!(
        contained(&[("package.json", package), (WORKFLOW, workflow)]),
        ["npm run types < npm test", "npm run lint < npm test"]
    );
    let package = r#"{
        "scripts": {
            "test": "npm run lint && npm run unit",
            "test:ci": "npm run lint && npm run unit -- --coverage",
            "lint": "eslint src",
            "unit": "vitest run --coverage"
        }
    }"#;
    let workflow =
        "- run: npm run test:ci\n- run: npx vitest --coverage\n- run: yarn --frozen-lockfile\n";
    assert_eq!(
        contained(&[("package.json", package), (WORKFLOW, workflow)]),
        [
            "npm test < npm run test:ci",
            "npm run lint < npm test, npm run test:ci",
            "npm run test:ci < npm test",
            "npx vitest --coverage < npm test, npm run test:ci",
        ]
    );
    let package = r#"{
        "scripts": {
            "test": "pnpm run \"/^test:.*/\"",
            "test:spec": "vitest run",
            "test:format": "prettier . --list-different"
        }
    }"#;
    let workflow = "- run: pnpm run test:spec\n- run: pnpm run test:format\n";
    assert_eq!(
        contained(&[
            ("package.json", package),
            ("pnpm-lock.yaml", ""),
            (WORKFLOW, workflow)
        ]),
        [
            "pnpm run test:spec < pnpm run test",
            "pnpm run test:format < pnpm run test"
        ]
    );
    let package = package.replace("pnpm run \\\"/^test:.*/\\\"", "run-p test:*");
    let noted = contained(&[("package.json", &package), (WORKFLOW, workflow)]);
    assert_eq!(
        noted,
        [
            "pnpm run test:spec < npm test",
            "pnpm run test:format < npm test"
        ]
    );
    // Programs that measure the coverage do not matter.
    let package = r#"{
        "scripts": {
            "test": "npm run lint && npm run mocha",
            "test:ci": "npm run test:cover",
            "test:cover": "nyc --reporter=lcov npm run mocha",
            "lint": "eslint src",
            "mocha": "mocha --reporter dot"
        }
    }"#;
    assert_eq!(
        contained(&[
            ("package.json", package),
            (WORKFLOW, "- run: npm run test:ci\n")
        ]),
        ["npm run lint < npm test", "npm run test:ci < npm test"]
    );
    let rust = [
        ("Cargo.toml", "[package]\n"),
        ("Makefile", "lint:\n\tcargo clippy --all-targets\n"),
        (WORKFLOW, "- run: make lint\n"),
    ];
    assert_eq!(
        contained(&rust),
        ["cargo clippy --all-targets -- -D warnings < make lint"]
    );
    let makefile = [("Makefile", makefile), (WORKFLOW, "- run: make ci\n")];
    assert_eq!(
        contained(&makefile),
        ["make test < make ci", "make lint < make ci"]
    );
    let package =
        r#"{"scripts": {"test": "tsc && mocha"}, "devDependencies": {"typescript": "5"}}"#;
    assert_eq!(
        contained(&[("package.json", package), ("tsconfig.json", "")]),
        ["npx --no-install tsc --noEmit < npm test"]
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
- run: composer validate --strict
";
    let adopted = [
        ".github/workflows/ci.yml: make -j2 ci",
        ".github/workflows/ci.yml: npm run verify",
        ".github/workflows/ci.yml: cargo xtask qa",
    ];
    check_adopted(
        &[(WORKFLOW, workflow)],
        &adopted,
        &[
            "make release-notes",
            "cargo run check",
            "composer validate --strict",
        ],
    );
}

#[test]
fn commands_of_other_ci_systems_and_hooks_are_adopted() {
    let gitlab = "test:\n  script:\n    - npm ci\n    - make test\n";
    check_adopted(
        &[(".gitlab-ci.yml", gitlab)],
        &[".gitlab-ci.yml: make test"],
        &[],
    );
    let travis = "script:\n  - perl Makefile.PL\n  - make test\nafter_success: tox\n";
    check_adopted(
        &[(".travis.yml", travis)],
        &[".travis.yml: make test"],
        &["perl Makefile.PL"],
    );
    let azure = "steps:\n- script: npm ci && npm run lint\n  workingDirectory: web\n- task: X@1\n";
    check_adopted(
        &[("azure-pipelines.yml", azure), ("web/index.js", "")],
        &["azure-pipelines.yml: npm run lint"],
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

#[test]
fn commands_in_lists_are_read_one_by_one() {
    let workflow = "\
- run: npm ci && npm test
- run: source venv/bin/activate; ruff check . && ./finish
- run: npm run lint:css && # The style.
- run: npm ci && npm run test:e2e | tee log
- run: npm ci || true
- run: curl https://example.org/install | sh
- run: git ls-files '*.sh' | xargs shellcheck
- run: pytest -k 'a && b; c'
";
    let adopted = [
        ".github/workflows/ci.yml: npm test",
        ".github/workflows/ci.yml: ruff check .",
        ".github/workflows/ci.yml: npm run lint:css",
    ];
    let uncovered = [
        "./finish",
        "npm ci && npm run test:e2e | tee log",
        "git ls-files '*.sh' | xargs shellcheck",
        "pytest -k 'a && b; c'",
    ];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &uncovered);
}

#[test]
fn commands_of_conditions_and_loops_are_listed() {
    let workflow = "\
- run: |
    if [ \"$RUNNER_OS\" = Linux ]; then
      npm run lint
      sudo apt-get install xvfb
    else
      tox; fi
    for name in a b; do pytest \"$name\"; done
    case \"$KIND\" in
      fast) pytest -q ;;
      *)
        pytest --slow
        ;;
    esac
    case \"$KIND\" in all) nox;; esac
    [ -d web ] && yarn test
    finish() {
      ruff check src
    }
    cat > settings.py <<EOF
    it's not a command
    EOF
    pytest
";
    let uncovered = [
        "npm run lint",
        "tox",
        "pytest \"$name\"",
        "pytest -q",
        "pytest --slow",
        "nox",
        "yarn test",
        "ruff check src",
    ];
    let adopted = [".github/workflows/ci.yml: pytest"];
    check_adopted(&[(WORKFLOW, workflow)], &adopted, &uncovered);
}

#[test]
fn directory_that_a_script_enters_is_that_of_its_checks() {
    let workflow = "\
- run: cd web && npm ci && npm test
- run: |
    cd ./tools/ || exit 1
    ruff check .
    (cd ../web && npm run lint)
    make lint
    cd ..
    shellcheck run.sh
- run: cd $HOME/x && tox
- run: cd ..; nox
- run: cd ../web; npm run typecheck
  working-directory: tools
";
    let files = [
        (WORKFLOW, workflow),
        ("web/index.js", ""),
        ("tools/x.py", ""),
    ];
    let mut adopted = proposals(&files);
    let uncovered = adopt(&repository(&files), &mut adopted);
    let adopted = adopted.iter().map(|it| {
        format!(
            "{}: {}",
            it.step.directory.as_deref().unwrap_or("."),
            it.step.target
        )
    });
    assert_eq!(
        adopted.collect::<Vec<_>>(),
        [
            "web: npm test",
            "tools: ruff check .",
            "web: npm run lint",
            "tools: make lint",
            ".: shellcheck run.sh",
            "web: npm run typecheck",
        ]
    );
    let comment = uncovered_comment(&uncovered);
    for line in ["tox (in $HOME/x, .github", "nox (in .., .github"] {
        assert!(comment.contains(line), "{comment}");
    }
}

#[test]
fn closing_brackets_of_ci_may_be_below_their_keys() {
    let workflow = "\
jobs:
  test:
    strategy:
      matrix:
        name: [
          \"a\",
        ]

        include:
          - name: \"a\"
    steps:
      - run: tox
";
    let files = [(WORKFLOW, workflow)];
    let mut adopted = proposals(&files);
    adopt(&repository(&files), &mut adopted);
    assert_eq!(adopted.len(), 1);
}

#[test]
fn invalid_files_of_ci_are_listed() {
    let files = [
        (WORKFLOW, "jobs:\n  a: [\n"),
        (".gitlab-ci.yml", "a:\n  script: tox\n"),
    ];
    let mut adopted = proposals(&files);
    let uncovered = adopt(&repository(&files), &mut adopted);
    assert_eq!(adopted.len(), 1);
    let comment = uncovered_comment(&uncovered);
    let start = "\n# These files of CI are not valid YAML, so their commands are unknown:\n\
                 #   .github/workflows/ci.yml: ";
    assert!(
        comment.starts_with(start) && comment.contains("line "),
        "{comment}"
    );
}

#[test]
fn hostile_scripts_are_read_within_bounds() {
    let scripts = [
        "(".repeat(200_000),
        "cd a\nx\n".repeat(20_000),
        "if \"\n".repeat(20_000),
        "a && ".repeat(20_000),
        "$(".repeat(50_000),
    ];
    for script in scripts {
        let files = [(".husky/pre-push", script.as_str())];
        let mut adopted = proposals(&files);
        let uncovered = adopt(&repository(&files), &mut adopted);
        assert!(adopted.is_empty());
        assert!(uncovered_comment(&uncovered).len() < 100_000);
    }
}

/// `init` runs what it adopts.
#[test]
fn commands_with_other_effects_are_not_adopted() {
    let commands = [
        "./deploy.sh test",
        "bundle exec rails db",
        "ssh production pytest",
        "psql --dbname test",
        "npm test || ./finish",
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
fn task_with_the_name_of_a_tool_is_adopted_whole() {
    let files = [
        (
            "composer.json",
            r#"{"require-dev": {"phpstan/phpstan": "2"}}"#,
        ),
        ("phpstan.neon", ""),
        ("vendor/bin/phpstan", ""),
        (
            "Makefile",
            "phpstan:\n\t@vendor/bin/phpstan analyse --memory-limit=-1\n",
        ),
        (
            WORKFLOW,
            "- run: make phpstan\n- run: composer update --prefer-lowest\n",
        ),
    ];
    check_adopted(&files, &[".github/workflows/ci.yml: make phpstan"], &[]);
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
    let files = [(".husky/pre-push", "build\rx\n")];
    let uncovered = adopt(&repository(&files), &mut Vec::new());
    assert_eq!(
        uncovered_comment(&uncovered),
        "\n# CI also runs these commands, which no check above covers:\n\
         #   build x (.husky/pre-push)\n"
    );
    assert_eq!(uncovered_comment(&UncoveredCi::default()), "");
    let script = "./one \"".to_owned() + &"x".repeat(10_000) + "\"\n";
    let many: Vec<String> = (0..1_000).map(|index| format!("./run {index}\n")).collect();
    let script = script + &many.concat();
    let files = [(".husky/pre-push", script.as_str())];
    let comment = uncovered_comment(&adopt(&repository(&files), &mut Vec::new()));
    assert!(
        comment.len() < 10_000 && comment.ends_with("#   and 951 more\n"),
        "{comment}"
    );
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

#[test]
fn environments_of_tox_are_checks_by_their_names() {
    let workflow = "- run: uv run tox -e docset\n- run: tox -edocs\n- run: tox run -e typing\n- run: tox -e lint\n- run: tox -e py\n- run: tox -e ${{ matrix.tox }}\n";
    check_adopted(
        &[("tox.ini", "[testenv]"), (WORKFLOW, workflow)],
        &[
            ".github/workflows/ci.yml: tox -e py",
            ".github/workflows/ci.yml: tox run -e typing",
            ".github/workflows/ci.yml: tox -e lint",
        ],
        &[
            "uv run tox -e docset",
            "tox -edocs",
            "tox -e ${{ matrix.tox }}",
        ],
    );
}

#[test]
fn workflow_that_publishes_has_no_checks_of_its_own() {
    let release = ".github/workflows/a-release.yml";
    let steps = "- run: npm test\n- run: npm run type\n- run: strip app\n- run: ./app --version\n";
    let package = r#"{"scripts": {"type": "tsc", "test": "mocha"}}"#;
    check_adopted(
        &[("package.json", package), (release, steps)],
        &[
            "package.json: npm test",
            ".github/workflows/a-release.yml: npm run type",
        ],
        &[],
    );
    check_adopted(
        &[
            ("package.json", package),
            (release, steps),
            (
                WORKFLOW,
                "- run: ./ci.sh\n- run: app --version\n- run: npm run type\n",
            ),
        ],
        &[
            "package.json: npm test",
            ".github/workflows/ci.yml: npm run type",
        ],
        &["./ci.sh"],
    );
}

#[test]
fn ci_command_for_a_part_of_the_tests_does_not_replace_the_whole() {
    let workflow = "jobs:\n  test:\n    steps:\n      - run: cargo test --lib --no-default-features\n      - run: cargo test -v --benches\n      - run: cargo test --all-features\n";
    check_adopted(
        &[("Cargo.toml", "[package]"), (WORKFLOW, workflow)],
        &[
            ".github/workflows/ci.yml: cargo test --all-features",
            "Cargo.toml: cargo clippy --all-targets -- -D warnings",
            "Cargo.toml: cargo fmt --check",
        ],
        &[
            "cargo test --lib --no-default-features",
            "cargo test -v --benches",
        ],
    );
    let workflow = "- run: cargo test pass\n- run: cargo test -j 2 -- --ignored\n- run: pytest tests/test_speed.py --codspeed\n- run: cargo test --features a --test-threads 1\n";
    check_adopted(
        &[
            ("Cargo.toml", "[package]"),
            ("pytest.ini", ""),
            ("tests/test_it.py", ""),
            ("tests/test_speed.py", ""),
            (WORKFLOW, workflow),
        ],
        &[
            ".github/workflows/ci.yml: cargo test --features a --test-threads 1",
            "pytest.ini: pytest",
            "Cargo.toml: cargo clippy --all-targets -- -D warnings",
            "Cargo.toml: cargo fmt --check",
        ],
        &[
            "cargo test pass",
            "cargo test -j 2 -- --ignored",
            "pytest tests/test_speed.py --codspeed",
        ],
    );
}

/// Tests of members would not run otherwise.
#[test]
fn commands_of_ci_run_with_all_packages_of_the_workspace() {
    let workflow = "jobs:\n  test:\n    steps:\n      - run: cargo test --verbose\n      - run: cargo clippy -- -D warnings\n      - run: cargo fmt -- --check\n";
    let package = "[package]\nname = \"a\"\n[workspace]\nmembers = [\"b\"]\n";
    check_adopted(
        &[("Cargo.toml", package), (WORKFLOW, workflow)],
        &[
            ".github/workflows/ci.yml: cargo test --verbose --workspace",
            ".github/workflows/ci.yml: cargo clippy --workspace -- -D warnings",
            ".github/workflows/ci.yml: cargo fmt --all -- --check",
        ],
        &[],
    );
    let virtual_root = "[workspace]\nmembers = [\"b\"]\ndefault-members = [\"b\"]\n";
    let files = [("Cargo.toml", virtual_root), (WORKFLOW, workflow)];
    let mut adopted = proposals(&files);
    adopt(&repository(&files), &mut adopted);
    assert_eq!(adopted[0].step.target, "cargo test --verbose");

    let workflow = "jobs:\n  test:\n    steps:\n      - run: go test -cover .\n";
    let files = [("go.mod", "module a\n"), (WORKFLOW, workflow)];
    let mut adopted = proposals(&files);
    adopt(&repository(&files), &mut adopted);
    assert_eq!(adopted[0].step.target, "go test -cover ./...");
    let alternatives = adopted[0].alternatives.iter();
    let alternatives: Vec<_> = alternatives.map(|it| it.step.target.as_str()).collect();
    assert_eq!(alternatives, ["go test ./...", "go test -cover ."]);
}
