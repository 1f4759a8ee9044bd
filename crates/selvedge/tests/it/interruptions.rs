//! Interrupting a run: it stops cleanly, no retry is charged, and it can be resumed.

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, wait_for};

#[test]
fn ctrl_c_stops_the_run_and_resume_continues() {
    let env = env_with_repo();
    let agent = agent(
        &env,
        "test -e ../go || { echo half > half; sleep 600; }; echo good > out",
    );
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "test -s out",
        "--format",
        "jsonl",
    ];
    let child = env.spawn(run);
    child.wait_for_stdout("effect_started");
    // The agent has changed a file when it is stopped.
    let half = env.work_dir().join("half");
    wait_for(&half);
    child.interrupt();
    let out = child.wait();
    out.assert_code(130);
    assert_eq!(out.jsonl().last().unwrap()["outcome"], "interrupted");
    assert_eq!(env.processes().len(), 0, "nothing of the tree is left");

    std::fs::write(env.root().join("go"), "").unwrap();
    let out = env.selvedge(["resume", "--format", "json"]).run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(
        (result["outcome"].as_str(), &result["verification_attempts"]),
        (Some("verified"), &1.into())
    );
    assert!(
        !half.exists(),
        "the next attempt begins from the tree that the first one began from"
    );
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["attempts"][0]["closing"], "interrupted");
    assert_eq!(story["attempts"][1]["run_number"], 2);

    let again = env.selvedge(["resume"]).run();
    again.assert_code(2);
    assert!(again.stderr.contains("is finished"), "{}", again.stderr);
}

#[test]
fn sigterm_is_143() {
    let env = env_with_repo();
    let agent = agent(&env, "sleep 600");
    let child = env.spawn([
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "true",
        "--format",
        "jsonl",
    ]);
    child.wait_for_stdout("effect_started");
    child.terminate();
    child.wait().assert_code(143);
}

#[test]
fn ctrl_c_twice_kills_a_stubborn_agent() {
    let env = env_with_repo();
    let agent = agent(
        &env,
        "trap '' TERM INT HUP; echo stubborn > ../stubborn; while :; do sleep 1; done",
    );
    let child = env.spawn([
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "true",
        "--format",
        "jsonl",
    ]);
    wait_for(&env.root().join("stubborn"));
    child.interrupt();
    child.wait_for_stdout("suspend_requested");
    child.interrupt();
    child.wait().assert_code(130);
    // The journal records the interruption, so the run can be resumed.
    let listed = env
        .selvedge(["list", "--open", "--format", "json"])
        .run()
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

/// Returns the tree with a user's changes that resuming has saved, as `show` reports it.
fn put_aside(env: &TestEnv) -> String {
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let aside = story["put_aside"].as_array().unwrap();
    assert_eq!(aside.len(), 1, "{aside:?}");
    let tree = aside[0].as_str().unwrap().to_owned();
    let shown = env.selvedge(["show"]).run().stdout;
    assert!(shown.contains(&format!("--tree {tree}")), "{shown}");
    tree
}

#[test]
fn resume_keeps_changes_made_while_an_attempt_was_stopped() {
    let env = env_with_repo();
    let agent = agent(
        &env,
        "test -e ../go || { echo half > half; sleep 600; }; echo good > out",
    );
    let run = ["run", "x", "--agent-cmd", &agent, "--check", "test -s out"];
    let child = env.spawn(run);
    wait_for(&env.work_dir().join("half"));
    child.interrupt();
    child.wait().assert_code(130);
    env.write("README", "mine, meanwhile\n");
    env.write("mine/notes", "mine\n");

    std::fs::write(env.root().join("go"), "").unwrap();
    env.selvedge(["resume"]).run().assert_code(0);
    assert_eq!(env.read("README"), "A small repository.\n");
    let tree = put_aside(&env);
    let restore = ["restore", "--tree", &tree];
    env.selvedge(restore).run().assert_code(0);
    assert_eq!(env.read("README"), "mine, meanwhile\n");
    assert_eq!(env.read("mine/notes"), "mine\n");
}

/// The checks judge the attempt's tree, not a user's changes while the checks were stopped.
#[test]
fn resume_keeps_changes_made_while_checks_were_stopped() {
    let env = env_with_repo();
    let agent = agent(&env, "echo good > out");
    let check = "test -e ../go || { : > ../checking; sleep 600; }; test ! -e mine && test -s out";
    let run = ["run", "x", "--agent-cmd", &agent, "--check", check];
    let child = env.spawn(run.into_iter().chain(["--baseline", "off"]));
    wait_for(&env.root().join("checking"));
    child.interrupt();
    child.wait().assert_code(130);
    env.write("out", "");
    env.write("mine", "mine\n");

    std::fs::write(env.root().join("go"), "").unwrap();
    env.selvedge(["resume"]).run().assert_code(0);
    assert_eq!(env.read("out"), "good\n");
    let restore = ["restore", "--tree", &put_aside(&env)];
    env.selvedge(restore).run().assert_code(0);
    assert_eq!(env.read("mine"), "mine\n");
}
