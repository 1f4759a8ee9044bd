//! Best-of-N: the selected result, and that the other executions change nothing.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, wait_for};

/// A repository whose check needs a file that git ignores.
fn with_dependencies() -> TestEnv {
    let env = env_with_repo();
    env.write(".gitignore", "deps/\n");
    env.git(["add", "."]);
    env.git(["commit", "-qm", "ignore"]);
    env.write("deps/installed", "yes\n");
    env
}

/// Returns the arguments of a run whose agent gets the number of its execution in `$n`, from its working
/// directory.
fn command(env: &TestEnv, work: &str, more: &[&str]) -> Vec<String> {
    let agent = agent(
        env,
        &format!("n=$(basename \"$(dirname \"$PWD\")\")\n{work}"),
    );
    let check = "test -s deps/installed && grep -q good out";
    let fixed = ["run", "do it", "--agent-cmd", &agent, "--check", check];
    let fixed = fixed.iter().chain(&["--retries", "0", "--format", "json"]);
    fixed.chain(more).map(ToString::to_string).collect()
}

fn run(env: &TestEnv, work: &str) -> CommandOutput {
    env.selvedge(command(env, work, &["--best-of", "3"])).run()
}

fn outcomes(result: &Value) -> Vec<String> {
    let parts = result["subtasks"].as_array().unwrap().iter();
    parts
        .map(|it| it["outcome"].as_str().unwrap_or("-").to_owned())
        .collect()
}

#[test]
fn best_of_n_keeps_the_majority_result() {
    let env = with_dependencies();
    let head = env.git(["rev-parse", "HEAD"]);
    let out = run(
        &env,
        "case $n in 1) echo bad > out ;; *) echo good > out; echo $n > which ;; esac",
    );
    out.assert_code(0);
    let result = out.json();
    assert_eq!(
        outcomes(&result),
        ["max_retries_exhausted", "verified", "verified"]
    );
    assert_eq!(result["chosen"], "execution 2");
    assert!((result["confidence"].as_f64().unwrap() - 0.67).abs() < 0.01);
    assert_eq!(
        (env.read("out"), env.read("which")),
        ("good\n".into(), "2\n".into())
    );
    assert_eq!(env.git(["rev-parse", "HEAD"]), head);
    // Each execution is a run, which can be shown and compared.
    let other = result["subtasks"][2]["run_id"].as_str().unwrap();
    let diff = env.selvedge(["show", other, "--diff"]).run();
    assert!(diff.stdout.contains("+3"), "{}", diff.stdout);
    let shown = env.selvedge(["show"]).run();
    assert!(
        shown.stdout.contains("2 of 3 runs are verified"),
        "{}",
        shown.stdout
    );
    env.selvedge(["restore", "--original"]).run().assert_code(0);
    assert!(
        !env.work_dir().join("out").exists(),
        "and what stood there before is kept"
    );
    assert!(env.work_dir().join("deps/installed").exists());
}

#[test]
fn best_of_n_without_majority_waits_for_review() {
    for (decision, code) in [("--accept", 0), ("--reject", 1)] {
        let env = with_dependencies();
        let out = run(
            &env,
            "case $n in 3) echo good > out ;; *) echo bad > out ;; esac",
        );
        out.assert_code(7);
        assert!(
            !env.work_dir().join("out").exists(),
            "nothing is put in place yet"
        );
        let reason = out.json()["reason"].as_str().unwrap().to_owned();
        assert!(
            reason.contains("1 of 3") && reason.contains("execution 3"),
            "{reason}"
        );
        env.selvedge(["resume"]).run().assert_code(2);
        let review = [
            "review", decision, "--reason", "I looked", "--format", "json",
        ];
        let out = env.selvedge(review).run();
        out.assert_code(code);
        assert_eq!(env.work_dir().join("out").exists(), code == 0);
        env.selvedge(["review", decision, "--reason", "again"])
            .run()
            .assert_code(2);
    }
}

#[test]
fn best_of_n_fails_if_no_result_passes() {
    let env = with_dependencies();
    let out = run(&env, "echo bad > out");
    out.assert_code(1);
    assert!(out.json().get("chosen").is_none());
    assert!(!env.work_dir().join("out").exists());
}

#[test]
fn best_of_n_resumes_after_stop_or_kill() {
    for kill in [false, true] {
        let env = with_dependencies();
        let root = env.root().display();
        let work = format!(
            "test -e {root}/go || {{ touch {root}/at-$n; test $n = 1 || sleep 600; }}; echo good > out"
        );
        let child = env.spawn(command(&env, &work, &["--best-of", "2"]));
        wait_for(&env.root().join("at-2"));
        if kill {
            child.kill();
            child.wait();
        } else {
            child.interrupt();
            child.wait().assert_code(130);
            assert!(env.processes().is_empty());
        }
        std::fs::write(env.root().join("go"), "").unwrap();
        let out = env.selvedge(["resume", "--format", "json"]).run();
        out.assert_code(0);
        assert_eq!(outcomes(&out.json()), ["verified", "verified"]);
        assert_eq!(out.json()["confidence"], json!(1.0));
        assert!(env.processes().is_empty());
    }
}

#[test]
fn best_of_n_rejects_bad_counts_worktrees_and_plans() {
    let env = with_dependencies();
    let refused = |command: &[String], why: &str| {
        let out = env.selvedge(command).run();
        out.assert_code(2);
        assert!(out.stderr.contains(why), "{}", out.stderr);
    };
    refused(&command(&env, "", &["--best-of", "1"]), "from 2 to 9");
    let linked = env.root().join("linked").display().to_string();
    env.git(["worktree", "add", "-q", &linked]);
    refused(
        &command(&env, "", &["--best-of", "2", "--dir", &linked]),
        "self-contained repository",
    );
    let plan = env.root().join("plan.json").display().to_string();
    let task = json!({"subtasks": [{"id": "a", "description": "x"}]});
    std::fs::write(&plan, task.to_string()).unwrap();
    let mut with_plan = command(&env, "", &["--best-of", "2", "--file", &plan]);
    with_plan.remove(1);
    refused(&with_plan, "best-of-N does not support plans");
}
