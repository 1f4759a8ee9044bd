//! Tests of which commands are changed to request a report, and how.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::checks::to_argv;

/// Returns the changed command, with `R` as the folder of the report, or `None` if it stays unchanged.
fn reporting_command(line: &str) -> Option<String> {
    let argv = to_argv(line);
    let call = find_reporting_runner(&argv)?;
    Some(call.argv(&argv, Path::new("R")).join(" "))
}

#[test]
fn runner_report_option() {
    let cases = [
        (
            "pytest -q tests",
            "pytest -p selvedge_canary -o junit_family=xunit1 --junitxml=R/report -q tests",
        ),
        (
            "cargo nextest run --workspace",
            "cargo nextest run --tool-config-file selvedge:R/nextest.toml --workspace",
        ),
        ("jest --ci", "jest --json --outputFile=R/report --ci"),
        (
            "vitest run src",
            "vitest run --reporter=default --reporter=json --outputFile.json=R/report src",
        ),
        (
            "vitest run --reporter=verbose",
            "vitest run --reporter=json --outputFile.json=R/report --reporter=verbose",
        ),
        (
            "mocha 'test/**/*.js'",
            "mocha --reporter R/mocha.cjs test/**/*.js",
        ),
        (
            "node --test",
            "node --test-reporter=spec --test-reporter-destination=stdout --test-reporter=R/node.mjs \
             --test-reporter-destination=R/report --test",
        ),
        ("go test ./...", "go test -json ./..."),
        (
            "rspec spec",
            "rspec --format progress --require R/selvedge_rspec.rb --format json --out R/report spec",
        ),
        (
            "rspec -fd",
            "rspec --require R/selvedge_rspec.rb --format json --out R/report -fd",
        ),
        ("phpunit tests", "phpunit --log-junit R/report tests"),
        (
            "python3 -m unittest -v shop",
            "python3 R/selvedge_unittest.py -v shop",
        ),
        (
            "mix test --seed 0",
            "elixir -r R/selvedge.exs -S mix test --formatter ExUnit.CLIFormatter \
             --formatter Selvedge.Formatter --seed 0",
        ),
        (
            "dotnet test --no-build",
            "dotnet test --logger trx --results-directory R --no-build",
        ),
        (
            "ctest --test-dir b",
            "ctest --output-junit R/report --test-dir b",
        ),
        ("mvn -B verify", "mvn -B verify"),
        ("./gradlew test", "./gradlew test"),
    ];
    for (line, expected) in cases {
        assert_eq!(reporting_command(line).as_deref(), Some(expected));
    }
}

#[test]
fn runner_is_found_behind_launchers() {
    let lines = [
        "python -m pytest",
        "python3.12 -m pytest -x",
        ".venv/bin/pytest",
        "uv run --frozen pytest",
        "poetry run python -m pytest",
        "PYTHONPATH=src pytest",
        "env A=1 B=2 npx --yes jest",
        "./node_modules/.bin/jest",
        "pnpm exec vitest run",
        "cargo +nightly nextest run",
        "bundle exec rspec",
        "php vendor/bin/phpunit",
        "pytest -k 'a or b'",
    ];
    for line in lines {
        assert!(reporting_command(line).is_some(), "{line}");
    }
}

#[test]
fn runner_unknown_command_is_unchanged() {
    let lines = [
        "npm test",
        "yarn test",
        "make test",
        "cargo test",
        "python -W error -m unittest",
        "python tests/run.py",
        "./bin/mix test",
        "pytest | tee log",
        "pytest && true",
        "pytest || true",
        "cd sub && pytest",
        "pytest $ARGS",
        "echo pytest",
        "node server.js",
        "go build ./...",
        "vitest bench",
        "./pytest.sh",
        // They already request a report, or run no tests.
        "pytest --junitxml=out.xml",
        "jest --json",
        "mocha -R dot",
        "go test -json ./...",
        "node --test --test-reporter=tap",
        "phpunit --log-junit=x.xml",
        "",
    ];
    for line in lines {
        assert_eq!(reporting_command(line), None, "{line}");
    }
}

#[test]
fn runner_wrapper_gets_variables_only() {
    let wrapped = |line: &str| {
        let argv = to_argv(line);
        let call = wrapper_invocation(&argv)?;
        assert_eq!(call.argv(&argv, Path::new("R")), argv);
        Some(call.variables(Path::new("R")))
    };
    for line in ["npm test", "make test", "cd sub && pytest", "mocha -R dot"] {
        let variables = wrapped(line).unwrap();
        let find = |name: &str| variables.iter().find(|it| it.0 == name).unwrap();
        assert_eq!(find("SELVEDGE_REPORTS").1, "R");
        let (_, value, join) = find("NODE_OPTIONS");
        assert_eq!(value, "--require \"R/selvedge_node.cjs\"");
        assert_eq!(*join, VariableJoin::Append(' '));
    }
    for line in ["cargo test", "env A=1 cargo test", "./gradlew test"] {
        assert!(wrapped(line).is_none(), "{line}");
    }
}

proptest! {
    #[test]
    fn runner_other_words_are_unchanged(
        argv in prop::collection::vec("[a-z./=-]{0,8}|--test|pytest|jest|run|-m|unittest|mix|test|python|&&", 1..6)
    ) {
        let plain: Vec<&str> = argv.iter().map(|word| plain_name(word)).collect();
        let named = TABLE.iter().flat_map(|row| row.invocations).any(|words| plain.contains(&words[0]));
        let invocation = find_reporting_runner(&argv);
        prop_assert!(named || invocation.is_none());
        if let Some(call) = invocation {
            let changed = call.argv(&argv, Path::new("/r"));
            // The original words are kept in their order, around the added ones.
            let (call_words, options) = argv.split_at(call.options_start);
            let replaced = call.spec.replacement.map_or(0, |(replaced, _)| replaced);
            prop_assert!(changed.starts_with(&call_words[..call_words.len() - replaced]));
            prop_assert!(changed.ends_with(options));
        }
    }
}

#[test]
fn runner_with_selection_is_found_behind_launchers() {
    let find = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        find_runner(&argv)
    };
    for (line, runner, options_at) in [
        ("uv run --frozen pytest -q", TestRunner::Pytest, 4),
        ("env A=1 python3.11 -m unittest", TestRunner::Unittest, 5),
        ("cargo +nightly test --lib", TestRunner::CargoTest, 3),
        ("node_modules/.bin/mocha", TestRunner::Mocha, 1),
        ("node --test test/", TestRunner::NodeTest, 1),
    ] {
        assert_eq!(find(line), Some((runner, options_at)), "{line}");
    }
    for line in ["npm test", "node server.js", "vitest", "sh -c pytest"] {
        assert_eq!(find(line), None, "{line}");
    }
}
