//! Arguments that the parser rejects, and help texts.

use crate::fixtures::env_with_repo;
use selvedge_testkit::{TestEnv, assert_contains};

/// Returns the first line of a rejected command, and its hints.
fn rejected(env: &TestEnv, args: &[&str]) -> String {
    let out = env.selvedge(args).run();
    out.assert_code(2);
    assert_eq!(out.stdout, "", "standard output is for results");
    let lines = out.stderr.lines().enumerate();
    let lines =
        lines.filter(|(number, line)| *number == 0 || line.trim_start().starts_with("hint: "));
    lines.map(|(_, line)| line.to_owned() + "\n").collect()
}

#[test]
fn numbers_are_rejected_with_range_and_example() {
    let env = env_with_repo();
    let run = |option: &'static str, value: &'static str| vec!["run", "x", option, value];
    let commands = [
        run("--retries", "abc"),
        run("--retries", "-1"),
        run("--max-cost", "abc"),
        run("--max-cost", "-1"),
        run("--max-cost", "nan"),
        run("--max-tokens", "1.5"),
        run("--timeout", "-1s"),
        run("--max-duration", "-5m"),
        vec!["list", "--limit", "0"],
        vec!["stats", "--days", "x"],
        vec!["show", "--attempt", "0"],
        vec!["digest", "--tokens", "0"],
        vec!["hub", "--audit-retention-days", "7"],
        vec!["ui", "--port", "70000"],
        vec!["init", "--check-timeout", "300"],
    ];
    let messages: String = commands.map(|args| rejected(&env, &args)).concat();
    insta::assert_snapshot!(messages, @r#"
    error: invalid value 'abc' for '--retries <N>': expected a whole number from 0 to 5, such as 2
    error: invalid value '-1' for '--retries <N>': expected a whole number from 0 to 5, such as 2
    error: invalid value 'abc' for '--max-cost <USD>': expected a positive number of US dollars, such as 2.50
    error: invalid value '-1' for '--max-cost <USD>': expected a positive number of US dollars, such as 2.50
    error: invalid value 'nan' for '--max-cost <USD>': expected a positive number of US dollars, such as 2.50
    error: invalid value '1.5' for '--max-tokens <N>': expected a whole number, 1 or more, such as 500000
    error: --timeout: "-1s" is negative
      hint: write it with units, such as "500ms", "120s", "30m" or "1h30m"
    error: --max-duration: "-5m" is negative
      hint: write it with units, such as "500ms", "120s", "30m" or "1h30m"
    error: invalid value '0' for '--limit <N>': expected a whole number, 1 or more, such as 20
    error: invalid value 'x' for '--days <N>': expected a whole number from 1 to 36500, such as 30
    error: invalid value '0' for '--attempt <N>': expected a whole number, 1 or more, such as 2
    error: invalid value '0' for '--tokens <N>': expected a whole number, 1 or more, such as 1000
    error: invalid value '7' for '--audit-retention-days <DAYS>': expected a whole number, 30 or more, such as 730
    error: invalid value '70000' for '--port <PORT>': expected a whole number from 0 to 65535, such as 8080
    error: invalid value '300' for '--check-timeout <TIME>': expected a time with units, such as 90s, 5m or 1h30m
    "#);
    env.write(
        "test_a.py",
        "import unittest\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n",
    );
    let out = env.selvedge(["init", "--check-timeout", "1m30s", "--dry-run"]);
    out.run().assert_code(0);
}

#[test]
fn task_without_quotes_is_rejected_with_quotes() {
    let env = env_with_repo();
    let messages = [
        &["run", "fix", "the", "test"][..],
        &["submit", "fix", "it", "--watch"],
        &["run", "--retries", "1", "fix", "it"],
        &["run", "say", "$HOME"],
    ];
    let messages: String = messages.map(|args| rejected(&env, args)).concat();
    insta::assert_snapshot!(messages, @r#"
    error: unexpected argument 'the' found
      hint: put the task in quotes: selvedge run "fix the test"
    error: unexpected argument 'it' found
      hint: put the task in quotes: selvedge submit "fix it"
    error: unexpected argument 'it' found
      hint: put the task in quotes: selvedge run "fix the flaky login test"
    error: unexpected argument '$HOME' found
      hint: put the task in quotes: selvedge run "fix the flaky login test"
    "#);
}

#[test]
fn required_choices_are_named_together() {
    let env = env_with_repo();
    let restore = env.selvedge(["restore"]).run();
    restore.assert_code(2);
    assert_contains(
        &restore.stderr,
        &["<--attempt <N>|--original|--tree <TREE>>"],
    );
    let review = env.selvedge(["review"]).run();
    review.assert_code(2);
    assert_contains(&review.stderr, &["<--accept|--reject>"]);
    for both in [
        &["review", "--accept", "--reject", "--reason", "x"][..],
        &["restore", "--original", "--attempt", "1"],
    ] {
        assert_contains(&rejected(&env, both), &["cannot be used with"]);
    }
}

#[test]
fn check_env_is_a_name() {
    let env = env_with_repo();
    let verify = ["verify", "--check", "true", "--check-env", "A=B"];
    insta::assert_snapshot!(
        rejected(&env, &verify),
        @"error: invalid value 'A=B' for '--check-env <NAME>': expected only the name; checks see the value that the variable has in the environment of this command: A=… selvedge … --check-env A"
    );
}

#[test]
fn help_describes_the_command_itself() {
    let env = env_with_repo();
    let help = |command: &str| env.selvedge([command, "--help"]).run().stdout;
    for command in ["list", "show", "stats", "gc", "doctor", "digest"] {
        let text = help(command);
        assert!(!text.contains("progress"), "{text}");
        assert!(!text.contains("per event"), "{text}");
    }
    let uninstall = help("uninstall");
    assert!(
        !uninstall.contains("selvedge install claude"),
        "{uninstall}"
    );
    assert_contains(&uninstall, &["selvedge uninstall claude"]);
    assert_contains(&help("install"), &["selvedge install claude"]);
    let review = help("review");
    assert!(!review.contains("[default: \"\"]"), "{review}");
}

#[test]
fn man_synopsis_has_the_values_of_options() {
    let env = env_with_repo();
    let page = env.selvedge(["man", "restore"]).run();
    page.assert_code(0);
    let line = page.stdout.lines().find(|line| line.contains("RUN"));
    insta::assert_snapshot!(line.unwrap(), @r"\fBselvedge restore\fR [\fB\-h\fR|\fB\-\-help\fR] <\fB\-\-attempt\fR \fIN\fR|\fB\-\-original\fR|\fB\-\-tree\fR \fITREE\fR> [\fIRUN\fR]");
    let dir = env.root().join("man");
    let pages = env.selvedge(["man", "--dir", dir.to_str().unwrap()]);
    pages.run().assert_code(0);
    let written = std::fs::read_to_string(dir.join("selvedge-restore.1")).unwrap();
    assert_eq!(written, page.stdout);
}

#[test]
fn doctor_in_a_pipe_shows_whole_lines() {
    let env = env_with_repo();
    let name = "LONG_NAME_OF_A_VARIABLE_THAT_CHECKS_DO_NOT_SEE";
    let doctor = (0..9).fold(env.selvedge(["doctor"]), |doctor, number| {
        doctor.env(format!("{name}_{number}"), "x")
    });
    let text = doctor.run().stdout;
    assert_contains(&text, &[&format!("{name}_8")]);
    assert!(!text.contains('…'), "{text}");
}
