//! How a verdict is reached: baseline, test regressions, flaky tests, known failures. The test runner is a
//! shell script that prints what `cargo test` prints; it counts its runs outside of the workspace.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::crossed::checked_by_a_script;
use crate::fixtures::{agent, env_with_repo, make_executable, prompt, run_json};

/// Runs the tests that are listed in `tests`, one per line: `NAME ok`, `NAME FAILED` or `NAME ignored`.
const RUNNER: &str = r#"#!/bin/sh
echo run >> "$RUNS"
total=$(grep -c . tests)
echo "running $total tests"
while read -r name result; do echo "test $name ... $result"; done < tests
failed=$(grep -c FAILED tests)
ignored=$(grep -c ignored tests)
verdict=ok; [ "$failed" -gt 0 ] && verdict=FAILED
echo; echo "test result: $verdict. $((total - failed - ignored)) passed; $failed failed; $ignored ignored; 0 measured; 0 filtered out; finished in 0.00s"
[ "$failed" -eq 0 ]
"#;

/// A repository with these tests, and the check that runs them.
fn tested(tests: &str) -> (TestEnv, String) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("tests", tests);
    env.create_repo();
    let runner = env.root().join("runner.sh");
    let counted = RUNNER.replace("$RUNS", &env.root().join("runs").display().to_string());
    std::fs::write(&runner, counted).unwrap();
    make_executable(&runner);
    (env, runner.display().to_string())
}

fn runs(env: &TestEnv) -> usize {
    let runs = std::fs::read_to_string(env.root().join("runs"));
    runs.unwrap_or_default().lines().count()
}

fn check(out: &CommandOutput) -> serde_json::Value {
    out.json()["verification_report"]["checks"][0].clone()
}

#[test]
fn baseline_failure_that_passes_now_is_named_as_fixed() {
    let (env, runner) = tested("adds ok\ngreets FAILED\n");
    let mends = agent(&env, "printf 'adds ok\\ngreets ok\\n' > tests");
    let out = run_json(&env, &mends, &runner, &[]);
    out.assert_code(0);
    let check = check(&out);
    assert_eq!(check["fixed"], true);
    assert_eq!(check["fixed_tests"], serde_json::json!(["greets"]));
    assert_eq!(check["evidence"], "text");
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("1 failing test fixed"), "{reason}");
}

#[test]
fn baseline_failure_still_fails_an_idle_agent() {
    let (env, runner) = tested("adds ok\ngreets FAILED\n");
    let idle = agent(&env, "");
    let out = run_json(&env, &idle, &runner, &["--retries", "0"]);
    out.assert_code(1);
    assert_eq!(check(&out)["preexisting"], true);
}

#[test]
fn known_failures_are_excused_only_if_unrelated() {
    let (env, runner) = tested("adds ok\nold::tests::greets FAILED\n");
    env.write("src/old.rs", "// old\n");
    env.write("src/new.rs", "// new\n");
    env.commit("Sources");
    let run = |description: &str, work: &str, known: serde_json::Value| {
        let task = serde_json::json!({
            "description": description,
            "known_failures": known,
            "max_verification_retries": 0,
            "verification_steps": [{"type": "test_passes", "target": runner}],
        });
        let agent = agent(&env, work);
        let run = [
            "run",
            "--file",
            "-",
            "--agent-cmd",
            &agent,
            "--format",
            "json",
        ];
        env.selvedge(run).stdin(task.to_string()).run()
    };
    let listed = serde_json::json!(["old::tests::greets"]);
    let unrelated = "echo $RANDOM >> src/new.rs";

    let out = run("add a feature", unrelated, listed.clone());
    out.assert_code(0);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("1 known failure excused"), "{reason}");
    assert_eq!(check(&out)["known_tests"], listed);
    assert_eq!(check(&out)["fixed"], false);

    let out = run("greets says the wrong thing", unrelated, listed.clone());
    out.assert_code(1);
    assert!(out.stderr.contains("the task names them"), "{}", out.stderr);
    let out = run(
        "add a feature",
        "echo $RANDOM >> src/old.rs",
        listed.clone(),
    );
    out.assert_code(1);
    assert_eq!(check(&out)["touched_tests"], listed);
    for other in [serde_json::json!(["adds"]), "tolerate".into()] {
        run("add a feature", unrelated, other).assert_code(1);
    }
    let breaks = "printf 'adds FAILED\\nold::tests::greets FAILED\\n' > tests";
    let both = serde_json::json!(["adds", "old::tests::greets"]);
    run("add a feature", breaks, both).assert_code(1);
}

#[test]
fn known_failures_are_suggested_if_only_old_failures_are_left() {
    let (env, runner) = tested("adds FAILED\ngreets FAILED\nhails ok\n");
    let run = |work: &str| {
        let agent = agent(&env, work);
        let run = ["run", "fix adds", "--check", &runner, "--retries", "0"];
        env.selvedge(run).args(["--agent-cmd", &agent]).run()
    };
    let hint = "next: selvedge known-failures";
    let out = run("printf 'adds ok\\ngreets FAILED\\nhails ok\\n' > tests");
    out.assert_code(1);
    assert!(out.stdout.contains(hint), "{out}");
    let out = run("printf 'adds FAILED\\ngreets FAILED\\nhails ok\\nx ok\\n' > tests");
    out.assert_code(1);
    assert!(!out.stdout.contains(hint), "{out}");
}

#[test]
fn known_failures_that_leave_no_passed_test_are_not_excused() {
    let (env, runner) = tested("greets FAILED\n");
    let listed = env.selvedge(["known-failures", "--check", &runner]).run();
    listed.assert_code(0);
    assert!(
        listed.stdout.contains("not listed: no other test"),
        "{}",
        listed.stdout
    );
    let agent = agent(&env, "echo x > new");
    let more = ["--known-failure", "greets", "--retries", "0"];
    let out = run_json(&env, &agent, &runner, &more);
    out.assert_code(1);
    let reason = check(&out)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("a known failure is not excused"),
        "{reason}"
    );
}

#[test]
fn known_failures_command_writes_a_usable_file() {
    let (env, runner) = tested("adds ok\ngreets FAILED\n");
    let settings = format!(
        "verification.known_failures_file = \"known.txt\"\n[[checks]]\ntype = \"test_passes\"\nrun = \"{runner}\"\n\
         [[checks]]\nname = \"lint\"\nrun = \"grep -q good out\"\n"
    );
    env.write("selvedge.toml", &settings);
    let out = env.selvedge(["known-failures"]).run();
    out.assert_code(0);
    assert_eq!(out.stdout, format!("# {runner}\ngreets\nlint\n"));

    env.selvedge(["verify"]).run().assert_code(2);
    let write = ["known-failures", "--output", "known.txt"];
    env.selvedge(write).run().assert_code(0);
    env.commit("Known failures");
    // A known failure without test ids needs the same message as before.
    env.selvedge(["verify"]).run().assert_code(1);
    env.write("out", "good\n");
    env.selvedge(["verify"]).run().assert_code(0);
    let agent = agent(&env, "echo x > new");
    let run = ["run", "add a feature", "--agent-cmd", &agent];
    env.selvedge(run).run().assert_code(0);
    let strict = [
        "verify",
        "--known-failure",
        "adds",
        "--known-failures",
        "/dev/null",
    ];
    env.selvedge(strict).run().assert_code(2);
}

#[test]
fn missing_tests_wait_for_review_after_one_attempt() {
    for maintained in ["adds ok", "adds ok\nhails ok"] {
        let (env, runner) = tested("adds ok\nbows ok\ngreets ok\n");
        let maintains = agent(&env, &format!("echo '{maintained}' > tests"));
        let out = run_json(&env, &maintains, &runner, &["--retries", "5"]);
        out.assert_code(7);
        let result = out.json();
        assert_eq!(result["outcome"], "needs_review");
        assert_eq!(result["verification_attempts"], 1);
        let reason = result["reason"].as_str().unwrap();
        assert!(reason.contains("greets"), "{reason}");
        let check = check(&out);
        assert_eq!(
            (&check["status"], &check["missing"]),
            (&"pass".into(), &true.into())
        );
        let missing = check["missing_tests"].as_array().unwrap();
        assert!(missing.contains(&"greets".into()), "{check}");

        let junit = env.selvedge(["show", "--junit", "-"]).run();
        assert!(junit.stdout.contains("greets"), "{}", junit.stdout);
        env.selvedge(["review", "--accept"]).run().assert_code(0);
    }
}

/// Names in a runner's text output can change for many reasons; the number of tests is not lower.
#[test]
fn renamed_tests_in_text_output_need_no_review() {
    for maintained in [
        "adds ok\ngreets_all ok",
        "adds ok\nhails ok\nhails_twice ok",
    ] {
        let (env, runner) = tested("adds ok\ngreets ok\n");
        let maintains = agent(&env, &format!("echo '{maintained}' > tests"));
        run_json(&env, &maintains, &runner, &[]).assert_code(0);
    }
}

#[test]
fn missing_tests_in_failed_attempts_are_not_tampering() {
    let (env, runner) = tested("adds ok\ngreets ok\n");
    let renames = agent(
        &env,
        "echo \"hails_$SELVEDGE_RUN_NUMBER ok\" > tests; echo $SELVEDGE_RUN_NUMBER > out",
    );
    let task = serde_json::json!({
        "description": "do it",
        "max_verification_retries": 2,
        "verification_steps": [
            {"type": "test_passes", "target": runner},
            {"type": "command", "target": "grep -q 3 out"},
        ],
    });
    let run = [
        "run",
        "--file",
        "-",
        "--agent-cmd",
        &renames,
        "--format",
        "json",
    ];
    let out = env.selvedge(run).stdin(task.to_string()).run();
    out.assert_code(7);
    assert_eq!(out.json()["verification_attempts"], 3);
    let correction = prompt(&env, 2);
    assert!(
        correction.contains("2 tests that were executed before are missing"),
        "{correction}"
    );

    // The remaining tests fail, and others are missing.
    let breaks = agent(&env, "echo \"hails_$SELVEDGE_RUN_NUMBER FAILED\" > tests");
    let out = run_json(&env, &breaks, &runner, &["--retries", "2"]);
    out.assert_code(1);
    assert_eq!(out.json()["outcome"], "max_retries_exhausted");
}

#[test]
fn skipped_tests_wait_for_review() {
    let (env, runner) = tested("adds ok\ngreets ok\n");
    let skips = agent(&env, "printf 'adds ok\\ngreets ignored\\n' > tests");
    let out = run_json(&env, &skips, &runner, &["--retries", "5"]);
    out.assert_code(7);
    assert_eq!(out.json()["verification_attempts"], 1);
    let reason = out.json()["reason"].to_string();
    assert!(reason.contains("skipped now: greets"), "{reason}");
}

#[test]
fn baseline_result_of_a_tree_is_cached() {
    let (env, runner) = tested("adds ok\n");
    env.write(".gitignore", ".venv\n");
    env.commit("Ignore the environment");
    let idle = agent(&env, "");
    let once = |more: &[&str]| {
        let more = [&["--retries", "0"], more].concat();
        run_json(&env, &idle, &runner, &more).assert_code(11);
    };
    once(&[]);
    assert_eq!(runs(&env), 2, "the baseline, and the attempt");
    once(&[]);
    assert_eq!(runs(&env), 3, "the attempt alone");
    once(&["--baseline", "off"]);
    assert_eq!(runs(&env), 4);
    // The result may depend on installed tools, but not on what Python compiles.
    env.write(".venv/bin/tool", "");
    once(&[]);
    assert_eq!(runs(&env), 6);
    env.write(".venv/lib/__pycache__/tool.pyc", "");
    once(&[]);
    assert_eq!(runs(&env), 7);
}

/// A check that fails in its runs with these numbers, counted over the whole test.
fn flaky(env: &TestEnv, failing: &str) -> String {
    let runs = env.root().join("runs");
    let runs = runs.display();
    format!("echo run >> {runs}; case $(wc -l < {runs}) in {failing}) exit 1;; esac")
}

#[test]
fn flaky_check_is_not_charged_if_it_may_predate_the_work() {
    let env = env_with_repo();
    // Run 1 is the baseline, 2 the attempt's check, 3 its rerun; 4 to 8 are on the tree before.
    let out = run_json(&env, &agent(&env, "echo x > new"), &flaky(&env, "2|5"), &[]);
    out.assert_code(0);
    let check = check(&out);
    assert_eq!(
        (&check["status"], &check["flaky"]),
        (&"pass".into(), &true.into())
    );
    assert_eq!(check["baseline_reruns"], serde_json::json!([true, false]));
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("1 of them flaky"), "{reason}");
}

/// Runs the tests that are listed in `tests`, or the named ones, like `cargo test`, and logs each command.
/// Tests with `alone` in their names pass if they are named.
fn cargo(tests: &str) -> (TestEnv, String) {
    const CARGO: &str = r#"#!/bin/sh
[ "$1" = test ] || exit 2
echo "$*" >> "$RUNS"
names=; [ $# -gt 1 ] && { while [ "$1" != --exact ]; do shift; done; shift; names=" $* "; }
total=0 failed=0
while read -r name result; do
  case "$names" in "") ;; *" $name "*) case "$name" in *alone*) result=ok;; esac;; *) continue;; esac
  total=$((total + 1)); [ "$result" = FAILED ] && failed=$((failed + 1))
  echo "test $name ... $result"
done < tests > out.$$
echo "running $total tests"; cat out.$$; rm out.$$
verdict=ok; [ "$failed" -gt 0 ] && verdict=FAILED
echo; echo "test result: $verdict. $((total - failed)) passed; $failed failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
[ "$failed" -eq 0 ]
"#;
    let (env, _) = tested(tests);
    let cargo = env.root().join("cargo");
    let counted = CARGO.replace("$RUNS", &env.root().join("runs").display().to_string());
    std::fs::write(&cargo, counted).unwrap();
    make_executable(&cargo);
    (env, format!("{} test", cargo.display()))
}

fn commands(env: &TestEnv) -> Vec<String> {
    let runs = std::fs::read_to_string(env.root().join("runs")).unwrap();
    runs.lines().map(str::to_owned).collect()
}

#[test]
fn rerun_covers_new_failures_only() {
    let (env, cargo) = cargo("adds ok\ngreets ok\nold FAILED\n");
    let breaks = agent(
        &env,
        "printf 'adds ok\\ngreets FAILED\\nold FAILED\\n' > tests",
    );
    let out = run_json(&env, &breaks, &cargo, &["--retries", "0"]);
    out.assert_code(1);
    let alone = "test -- --exact greets";
    assert_eq!(commands(&env), ["test", "test", alone, alone]);
    let check = check(&out);
    assert_eq!(check["regressed_tests"], serde_json::json!(["greets"]));
    assert_eq!(check["preexisting_tests"], serde_json::json!(["old"]));
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.ends_with("passed before fails now: greets"),
        "{reason}"
    );
}

#[test]
fn rerun_skips_failures_of_the_baseline() {
    let (env, cargo) = cargo("adds ok\ngreets FAILED\n");
    let out = run_json(
        &env,
        &agent(&env, "echo x > new"),
        &cargo,
        &["--retries", "0"],
    );
    out.assert_code(1);
    assert_eq!(commands(&env), ["test", "test"]);
    assert_eq!(check(&out)["preexisting"], true);
}

#[test]
fn rerun_in_isolation_does_not_prove_flakiness() {
    let (env, cargo) = cargo("adds ok\nnot_alone ok\n");
    let breaks = agent(&env, "printf 'adds ok\\nnot_alone FAILED\\n' > tests");
    let out = run_json(&env, &breaks, &cargo, &["--retries", "0"]);
    out.assert_code(1);
    let alone = "test -- --exact not_alone";
    assert_eq!(commands(&env), ["test", "test", alone, "test", "test"]);
    assert_eq!(check(&out)["flaky"], false);
}

#[test]
fn rerun_that_is_disabled_reports_every_failure() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[verification]\nrerun_failed = false\n");
    let more = ["--retries", "0", "--baseline", "off"];
    let out = run_json(&env, &agent(&env, ""), &flaky(&env, "1"), &more);
    out.assert_code(1);
    assert_eq!(runs(&env), 1);
}

#[test]
fn flaky_check_fails_if_the_work_made_it_flaky() {
    let env = env_with_repo();
    let check_line = format!("[ ! -e new ] || {{ {}; }}", flaky(&env, "1|3"));
    let agent = agent(&env, "echo x > new");
    let out = run_json(&env, &agent, &check_line, &["--retries", "0"]);
    out.assert_code(1);
    let check = check(&out);
    assert_eq!(
        (&check["status"], &check["flaky"]),
        (&"fail".into(), &true.into())
    );
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.starts_with("newly flaky"), "{reason}");
    assert!(
        env.work_dir().join("new").exists(),
        "the attempt's tree is back in place"
    );
}

#[test]
fn delivered_tree_is_the_verified_tree() {
    let env = env_with_repo();
    let meddles = "grep -q good out && echo meddled > out && echo more > left";
    let out = run_json(
        &env,
        &agent(&env, "echo good > out"),
        meddles,
        &["--baseline", "off"],
    );
    out.assert_code(0);
    assert_eq!(env.read("out"), "good\n");
    assert!(!env.work_dir().join("left").exists());
}

#[test]
fn protected_file_is_reverted_unless_the_task_allows_it() {
    let env = checked_by_a_script();
    env.write("selvedge.toml", "[guard]\nprotect = [\"*.lock\"]\n");
    env.write("tool.lock", "1\n");
    env.commit("A lock");
    let agent = agent(&env, "echo good > out; echo 2 > tool.lock");
    let run = [
        "run",
        "--file",
        "-",
        "--agent-cmd",
        &agent,
        "--retries",
        "0",
    ];
    let task = |more: &str| {
        format!(
            r#"{{"description": "make it pass", {more}
                "verification_steps": [{{"type": "command", "target": "./check.sh"}}]}}"#
        )
    };
    for (more, expected) in [("", "1\n"), (r#""allow": ["tool.lock"],"#, "2\n")] {
        env.selvedge(run).stdin(task(more)).run().assert_code(0);
        assert_eq!(env.read("tool.lock"), expected);
        env.git(["checkout", "-q", "."]);
        std::fs::remove_file(env.work_dir().join("out")).unwrap();
    }
}

/// Runs an agent whose work passes its check and ends the process that tests it.
fn leaves_early(env: &TestEnv) -> CommandOutput {
    env.write("shop.py", "def add(a, b):\n    return a - b\n");
    env.git(["add", "."]);
    env.git(["commit", "-qm", "app"]);
    let body = "printf 'import os\\ndef add(a, b):\\n    os._exit(0)\\n' > shop.py";
    run_json(env, &agent(env, body), "grep -q def shop.py", &[])
}

#[test]
fn early_exit_waits_for_review() {
    let env = env_with_repo();
    let out = leaves_early(&env);
    out.assert_code(7);
    assert_eq!(out.json()["outcome"], "needs_review");
    assert_eq!(out.json()["status"], "needs_review");
    env.selvedge(["resume"]).run().assert_code(2);

    let reject = [
        "review",
        "--reject",
        "--reason",
        "it leaves early",
        "--format",
        "json",
    ];
    let out = env.selvedge(reject).run();
    out.assert_code(1);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("rejected by") && reason.contains("it leaves early"),
        "{reason}"
    );
    env.selvedge(reject).run().assert_code(2);

    let env = env_with_repo();
    leaves_early(&env).assert_code(7);
    env.selvedge(["review", "--accept"]).run().assert_code(0);
}

#[test]
fn restore_and_diff_reach_every_tree_of_a_run() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "echo $SELVEDGE_RUN_NUMBER > out"),
        "grep -q 2 out",
        &[],
    );
    out.assert_code(0);
    let diff = env.selvedge(["show", "--diff", "--attempt", "2"]).run();
    assert!(diff.stdout.contains("-1\n+2"), "{}", diff.stdout);

    env.write("out", "mine\n");
    let back = env.selvedge(["restore", "--attempt", "1"]).run();
    back.assert_code(0);
    assert_eq!(env.read("out"), "1\n");
    let undo = back
        .stdout
        .split("selvedge ")
        .nth(1)
        .unwrap()
        .trim()
        .to_owned();
    env.selvedge(["restore", "--original"]).run().assert_code(0);
    assert!(!env.work_dir().join("out").exists());
    env.selvedge(undo.split(' ')).run().assert_code(0);
    assert_eq!(env.read("out"), "mine\n", "what stood there was kept");
    env.selvedge(["restore", "--attempt", "9"])
        .run()
        .assert_code(2);
}
