//! The exit codes of runs, each produced by a real run. Those of turn limits and budgets are in `agents.rs`,
//! those of signals in `interruptions.rs`.

use crate::fixtures::{agent, env_with_repo, run_json};

#[test]
fn verified_is_0() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "echo good > out"),
        "grep -q good out",
        &[],
    );
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    assert_eq!(out.json()["verification_status"], "verified");
}

#[test]
fn unchecked_is_0_and_not_reported_as_verified() {
    let env = env_with_repo();
    let agent = agent(&env, "");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        &agent,
        "--no-verify",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "unchecked");
    assert_eq!(out.json()["verification_report"]["status"], "skip");
    let human = env.selvedge(&run[..5]).run();
    human.assert_code(0);
    let output = format!("{}{}", human.stdout, human.stderr);
    assert!(
        output.contains("unchecked") && !output.contains("verified:"),
        "{output}"
    );
}

#[test]
fn unchecked_is_0_for_an_empty_list_of_checks() {
    let env = env_with_repo();
    let agent = agent(&env, "");
    let task = r#"{"description": "do it", "verification_steps": []}"#;
    let run = [
        "run",
        "--file",
        "-",
        "--agent-cmd",
        &agent,
        "--format",
        "json",
    ];
    let out = env.selvedge(run).stdin(task).run();
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "unchecked");
    assert_eq!(out.json()["verification_report"]["status"], "auto_pass");
}

#[test]
fn failed_checks_are_1() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "date +%N >> out"),
        "exit 7",
        &["--retries", "1"],
    );
    out.assert_code(1);
    let result = out.json();
    assert_eq!(result["outcome"], "max_retries_exhausted");
    assert_eq!(result["verification_status"], "partial_pass");
    assert_eq!(result["verification_attempts"], 2);
    assert_eq!(
        result["verification_history"][1]["checks"][0]["exit_code"],
        7
    );
}

#[test]
fn stuck_run_is_1() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "echo same > out"),
        "exit 1",
        &["--retries", "5"],
    );
    out.assert_code(1);
    assert_eq!(out.json()["outcome"], "stuck");
    assert_eq!(out.json()["verification_attempts"], 2);
}

#[test]
fn usage_error_is_2_and_runs_nothing() {
    let env = env_with_repo();
    env.selvedge(["run", "do it", "--agent-cmd", "true"])
        .run()
        .assert_code(2);
    env.selvedge(["run", "--no-such-flag"]).run().assert_code(2);
    assert!(!env.state().join("selvedge/journal.db").exists());
}

#[test]
fn failed_agent_is_3_without_verification() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "echo broken >&2; exit 4"),
        "touch looked",
        &[],
    );
    out.assert_code(3);
    assert_eq!(out.json()["outcome"], "failed");
    assert_eq!(out.json()["verification_attempts"], 0);
    assert!(
        !env.work_dir().join("looked").exists(),
        "a failed session is not verified"
    );
}

#[test]
fn cannot_satisfy_is_3_with_the_agents_reason() {
    let env = env_with_repo();
    let agent = agent(&env, "echo 'CANNOT_SATISFY: the API is gone'");
    let out = run_json(&env, &agent, "true", &[]);
    out.assert_code(3);
    assert_eq!(out.json()["outcome"], "cannot_satisfy");
    assert!(
        out.json()["reason"]
            .as_str()
            .unwrap()
            .contains("the API is gone")
    );
}

#[test]
fn session_timeout_is_4() {
    let env = env_with_repo();
    let out = run_json(
        &env,
        &agent(&env, "sleep 600"),
        "true",
        &["--timeout", "300ms"],
    );
    out.assert_code(4);
    assert_eq!(out.json()["outcome"], "timeout");
}

#[test]
fn infrastructure_error_is_9_after_two_uncharged_repeats() {
    let env = env_with_repo();
    // The agent removes the check's program, so that the check cannot start.
    let tool = env.root().join("bin/tool");
    std::fs::create_dir_all(tool.parent().unwrap()).unwrap();
    std::fs::write(&tool, "#!/bin/sh\nexit 0\n").unwrap();
    crate::fixtures::make_executable(&tool);
    let path = format!(
        "{}:{}",
        tool.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let agent = agent(&env, &format!("rm {}", tool.display()));
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        &agent,
        "--check",
        "tool",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).env("PATH", path).run();
    out.assert_code(9);
    assert_eq!(out.json()["outcome"], "infra_failed");
    let shown = env.selvedge(["show", "--format", "jsonl"]).run();
    assert_eq!(shown.stdout.matches("verification_repeated").count(), 2);
}
