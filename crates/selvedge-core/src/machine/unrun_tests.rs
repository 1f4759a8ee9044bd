//! Recognizes a failing test command that did not execute all its tests: a failure that stops the runner shows nothing
//! about the others.

use crate::guard::Pattern;
use crate::model::CheckReport;

/// Why the other tests of a failed check may not have been executed; `None` if its output shows that they were.
pub fn find_unrun_reason(check: &CheckReport) -> Option<&'static str> {
    let Some(tests) = &check.tests else {
        return Some("its output shows no executed test");
    };
    if tests.passed == 0 && tests.passed_ids.ids.is_empty() {
        return Some("no other test was executed and passed");
    }
    if !tests.complete {
        return Some("its test runner did not print a closing summary");
    }
    find_stop_reason(check)
}

/// Why a failure may have stopped the command before its last test, although some were executed.
pub(crate) fn find_stop_reason(check: &CheckReport) -> Option<&'static str> {
    let has_reader = |name: &str| {
        let mut readers = check.tests.iter().flat_map(|tests| &tests.readers);
        readers.any(|reader| reader.name == name)
    };
    if STOPPED.is_match(&check.output) || has_reader("pytest") && check.exit_code == Some(2) {
        return Some("the failure stopped the test runner");
    }
    if CARGO_STOPPED.is_match(&check.output) {
        return Some("cargo stopped at the first failing target: add --no-fail-fast");
    }
    if stops_at_first_failure(&check.target) {
        return Some("its command line stops the test runner at the first failure");
    }
    is_followed_by_command(&check.target)
        .then_some("its command line joins further commands with && after a test command")
}

/// Closing lines of runners that stopped: pytest, RSpec, jest `--bail`, nextest, pnpm, Maven, Minitest, PHPUnit.
static STOPPED: Pattern = Pattern::new(concat!(
    r"(?m)^[^\n]{0,40}!{3,} .{0,200} !{3,}|errors? occurred outside of examples",
    r"|^.{0,80}Test Suites: .{0,100}\d of \d+ total|tests? (?:was|were) not run due to",
    r"|ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL|^.{0,40}Reactor Summary(?s:.{0,20000}) SKIPPED",
    r"|^Interrupted\. Exiting|^.{0,20}PHP Fatal error:|^.{0,20}Fatal error: ",
));

/// cargo names the first failing target; documentation tests are the last one.
static CARGO_STOPPED: Pattern =
    Pattern::new(r"(?m)^error: (?:doc)?test failed, to rerun pass `-(?:[^-]|-[^d]|-d[^o])");

fn stops_at_first_failure(target: &str) -> bool {
    const FLAGS: [&str; 7] = [
        "--maxfail",
        "--exitfirst",
        "--bail",
        "--fail-fast",
        "--failfast",
        "-failfast",
        "--stop-on-",
    ];
    let is_pytest = target.contains("pytest") || target.contains("py.test");
    let is_unittest = target.contains("unittest");
    target.split_whitespace().any(|word| {
        FLAGS.iter().any(|flag| word.starts_with(flag))
            || is_pytest && has_short(word, 'x')
            || is_unittest && has_short(word, 'f')
            || target.contains("mocha") && has_short(word, 'b')
    })
}

/// Whether a word is a cluster of short options with this one, as in `-qx`.
fn has_short(word: &str, option: char) -> bool {
    /// Options of these runners with a value, as in `-rx`.
    const WITH_VALUE: &str = "cgkmnoprtuW";
    let options = word.strip_prefix('-').unwrap_or_default();
    let mut options = options.chars().take_while(|it| !WITH_VALUE.contains(*it));
    options.any(|it| it == option)
}

/// Whether a command that may execute tests is followed by another one, which its failure prevents.
fn is_followed_by_command(target: &str) -> bool {
    const SETS_UP: [&str; 9] = [
        "cd", "export", "set", "source", ".", "mkdir", "rm", "cp", "echo",
    ];
    const TESTS: [&str; 6] = ["test", "spec", "check", "jest", "mocha", "tox"];
    let mut commands: Vec<&str> = target.split("&&").collect();
    commands.pop();
    commands.iter().any(|command| {
        let first = command.split_whitespace().next().unwrap_or_default();
        !SETS_UP.contains(&first) && TESTS.iter().any(|word| command.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use selvedge_digest::{TestReader, TestSummary};

    use super::*;
    use crate::model::{CheckStatus, Step, StepKind};

    fn failed(target: &str, output: &str) -> CheckReport {
        let tests = TestSummary {
            executed: 2,
            passed: 1,
            failed: 1,
            complete: true,
            ..TestSummary::default()
        };
        CheckReport {
            output: output.to_owned(),
            tests: Some(tests),
            ..CheckReport::new(&Step::new(StepKind::TestPasses, target), CheckStatus::Fail)
        }
    }

    #[test]
    fn stopped_runner_is_recognized_by_its_output() {
        for output in [
            "!!!!!!!! Interrupted: 1 error during collection !!!!!!!!\n==== 1 error in 0.1s ====\n",
            "x\n!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!\n",
            "3 examples, 0 failures, 1 error occurred outside of examples\n",
            "Test Suites: 1 failed, 1 of 3 total\n",
            "warning: 2/5 tests were not run due to test failure (run with --no-fail-fast)\n",
            " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  text@1.0.0 test: `mocha`\n",
            "[INFO] Reactor Summary for p 1:\n[INFO] a ... FAILURE [ 1 s]\n[INFO] b ... SKIPPED\n",
            "error: test failed, to rerun pass `--lib`\n",
            "error: test failed, to rerun pass `-p shop --test cart`\n",
            "PHP Fatal error:  Uncaught Error: Class \"D\\Base\" not found in /p/test/BTest.php:2\n",
        ] {
            assert!(
                find_unrun_reason(&failed("x", output)).is_some(),
                "{output}"
            );
        }
        for output in [
            "==== 1 failed, 1 passed in 0.1s ====\n",
            "Test Suites: 1 failed, 2 passed, 3 total\n",
            "error: doctest failed, to rerun pass `--doc`\n",
            "error: 1 target failed:\n    `--lib`\n",
        ] {
            assert_eq!(find_unrun_reason(&failed("x", output)), None, "{output}");
        }
    }

    #[test]
    fn stopped_runner_is_recognized_by_its_command_line() {
        for target in [
            "pytest -x",
            "python -m pytest --maxfail=1 tests",
            "jest --bail",
            "python -m unittest -f",
            "phpunit --stop-on-failure",
            "pytest tests/unit && pytest tests/slow",
        ] {
            assert!(find_unrun_reason(&failed(target, "")).is_some(), "{target}");
        }
        for target in ["pytest", "cd tests && pytest", "npm run build && npm test"] {
            assert_eq!(find_unrun_reason(&failed(target, "")), None, "{target}");
        }
    }

    #[test]
    fn stopped_runner_leaves_no_passed_test() {
        let mut none_passed = failed("pytest", "");
        let tests = none_passed.tests.as_mut().unwrap();
        (tests.executed, tests.passed) = (1, 0);
        assert!(find_unrun_reason(&none_passed).is_some());
        let mut interrupted = failed("make test", "");
        interrupted.exit_code = Some(2);
        assert_eq!(find_unrun_reason(&interrupted), None);
        let reader = TestReader {
            name: "pytest".to_owned(),
            ..TestReader::default()
        };
        interrupted.tests.as_mut().unwrap().readers = vec![reader];
        assert!(find_unrun_reason(&interrupted).is_some());
        none_passed.tests = None;
        assert!(find_unrun_reason(&none_passed).is_some());
    }
}
