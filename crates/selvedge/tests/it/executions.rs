//! Several executions of one task side by side: which work stays, and that the others change nothing.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, wait_for};

/// A repository whose check needs something that git ignores.
fn with_dependencies() -> TestEnv {
    let env = env_with_repo();
    env.write(".gitignore", "deps/\n");
    env.git(["add", "."]);
    env.git(["commit", "-qm", "ignore"]);
    env.write("deps/installed", "yes\n");
    env
}

/// An agent that knows which execution it is, by where it works.
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
    env.selvedge(command(env, work, &["--executions", "3"]))
        .run()
}

fn outcomes(result: &Value) -> Vec<String> {
    let parts = result["subtasks"].as_array().unwrap().iter();
    parts
        .map(|it| it["outcome"].as_str().unwrap_or("-").to_owned())
        .collect()
}

#[test]
fn the_work_that_most_agree_with_stays() {
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
    // Each execution is a run of its own, to be shown and compared.
    let other = result["subtasks"][2]["run_id"].as_str().unwrap();
    let diff = env.selvedge(["show", other, "--diff"]).run();
    assert!(diff.stdout.contains("+3"), "{}", diff.stdout);
    let shown = env.selvedge(["show"]).run();
    assert!(
        shown.stdout.contains("2 of 3 executions are verified"),
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
fn without_a_majority_a_person_decides() {
    for (word, code) in [("--accept", 0), ("--reject", 1)] {
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
        let review = ["review", word, "--reason", "I looked", "--format", "json"];
        let out = env.selvedge(review).run();
        out.assert_code(code);
        assert_eq!(env.work_dir().join("out").exists(), code == 0);
        env.selvedge(["review", word, "--reason", "again"])
            .run()
            .assert_code(2);
    }
}

#[test]
fn work_that_all_checks_reject_is_a_failure() {
    let env = with_dependencies();
    let out = run(&env, "echo bad > out");
    out.assert_code(1);
    assert!(out.json().get("chosen").is_none());
    assert!(!env.work_dir().join("out").exists());
}

#[test]
fn executions_that_were_stopped_or_killed_go_on() {
    for kill in [false, true] {
        let env = with_dependencies();
        let there = env.root().display();
        let work = format!(
            "test -e {there}/go || {{ touch {there}/at-$n; test $n = 1 || sleep 600; }}; echo good > out"
        );
        let child = env.spawn(command(&env, &work, &["--executions", "2"]));
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
fn what_cannot_be_copied_or_counted_is_refused() {
    let env = with_dependencies();
    let refused = |command: &[String], why: &str| {
        let out = env.selvedge(command).run();
        out.assert_code(2);
        assert!(out.stderr.contains(why), "{}", out.stderr);
    };
    refused(&command(&env, "", &["--executions", "1"]), "from 2 to 9");
    let linked = env.root().join("linked").display().to_string();
    env.git(["worktree", "add", "-q", &linked]);
    refused(
        &command(&env, "", &["--executions", "2", "--dir", &linked]),
        "of its own",
    );
    let plan = env.root().join("plan.json").display().to_string();
    let task = json!({"subtasks": [{"id": "a", "description": "x"}]});
    std::fs::write(&plan, task.to_string()).unwrap();
    let mut with_plan = command(&env, "", &["--executions", "2", "--file", &plan]);
    with_plan.remove(1);
    refused(&with_plan, "a plan is not executed");
}
