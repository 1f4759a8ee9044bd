//! Caps on cost, tokens and time, of a run and of an attempt, through the real binary: enforced during a
//! session if the agent reports its usage, otherwise between attempts; if they cannot be enforced, a warning or
//! an error.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, run_json};

const FAILS: &str = "test -e done";

/// A command that prints the usage so far, as Claude Code does.
fn used(input: u64) -> String {
    let usage = json!({"input_tokens": input, "output_tokens": 0});
    let message = json!({"id": "1", "model": "claude-sonnet-4-6", "usage": usage, "content": []});
    let record = json!({"type": "assistant", "message": message});
    format!("echo '{record}'\n")
}

const ENDS: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'"#;
const HANGS: &str = "sleep 600";

fn run_agent(env: &TestEnv, body: &str, more: &[&str]) -> CommandOutput {
    let out = run_json(env, &agent(env, body), FAILS, more);
    assert!(env.processes().is_empty(), "{:?}", env.processes());
    out
}

#[track_caller]
fn assert_stopped(more: &[&str], reason: &str) {
    let env = env_with_repo();
    let body = used(2_000) + HANGS;
    let out = run_agent(&env, &body, more);
    out.assert_code(6);
    let result = out.json();
    assert_eq!(result["outcome"], "budget");
    assert!(
        result["reason"].to_string().contains(reason),
        "{}",
        result["reason"]
    );
    assert_eq!(result["verification_attempts"], 0);
}

#[test]
fn budget_stops_a_running_session() {
    assert_stopped(
        &["--max-tokens", "1500"],
        "the cap on tokens was reached: 2000",
    );
    assert_stopped(
        &["--max-cost", "0.001"],
        "the cap on cost was reached: $0.0060",
    );
    assert_stopped(&["--max-duration", "1s"], "the run's time limit of 1 s");
}

#[test]
fn budget_of_attempt_applies_to_each_attempt() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_tokens = 1500\n");
    let out = run_agent(&env, &(used(2_000) + HANGS), &[]);
    out.assert_code(6);
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_cost_usd = 0.001\n");
    run_agent(&env, &(used(2_000) + HANGS), &[]).assert_code(6);
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_tokens = 1500\n");
    let works = used(1_000) + "[ $SELVEDGE_RUN_NUMBER = 2 ] && touch done\n" + ENDS;
    let out = run_agent(&env, &works, &[]);
    out.assert_code(0);
    assert_eq!(
        out.json()["verification_attempts"],
        2,
        "each attempt afresh"
    );
}

#[test]
fn budget_prevents_attempt_that_would_exceed_it() {
    let env = env_with_repo();
    let out = run_agent(&env, &(used(600) + ENDS), &["--max-tokens", "1000"]);
    out.assert_code(6);
    assert_eq!(out.json()["verification_attempts"], 1);
    assert_eq!(out.json()["verification_status"], "partial_pass");
}

#[test]
fn budget_cap_allows_finished_work_to_be_verified() {
    let env = env_with_repo();
    let body = format!("touch done\n{{ {}{ENDS}\n}} | cat\n", used(2_000));
    let out = run_agent(&env, &body, &["--max-tokens", "2000"]);
    assert!([0, 6].contains(&out.code), "{out}");
}

#[test]
fn budget_that_cannot_be_enforced_warns_or_is_rejected() {
    for cap in [["--max-cost", "1"], ["--max-tokens", "1000"]] {
        let env = env_with_repo();
        let ran = env.root().join("prompts/1");
        let out = run_agent(
            &env,
            "touch done",
            &[&cap[..], &["--require-cost-reporting"]].concat(),
        );
        out.assert_code(2);
        assert!(out.stderr.contains("be enforced"), "{}", out.stderr);
        assert!(!ran.exists(), "nothing was run");
        let out = run_agent(&env, "touch done", &cap);
        out.assert_code(0);
        assert!(out.stderr.contains("be enforced"), "{}", out.stderr);
    }
    // A cap on time does not depend on the agent's reports.
    let env = env_with_repo();
    let out = run_agent(
        &env,
        "touch done",
        &["--max-duration", "1h", "--require-cost-reporting"],
    );
    out.assert_code(0);
}

#[test]
fn budget_of_task_keeps_other_caps_of_settings() {
    let env = env_with_repo();
    let agent = agent(&env, "true");
    let path = env.root().join("task.json");
    std::fs::write(
        &path,
        r#"{"description": "x", "budget": {"wall_ms": 60000, "cost_micro_usd": 2000000}}"#,
    )
    .unwrap();
    env.write("../config/selvedge/config.toml", "[budget]\ntokens = 7\n");
    let run = ["run", "--agent-cmd", &agent, "--check", "true", "--file"];
    let out = env
        .selvedge(run)
        .arg(&path)
        .args(["--max-cost", "1", "--format", "jsonl"])
        .run();
    let events = out.jsonl();
    let created = events.iter().find(|it| it["type"] == "run_created");
    let budget = &created.unwrap()["data"]["spec"]["budget"];
    assert_eq!(
        *budget,
        serde_json::json!({"tokens": 7, "wall_ms": 60_000, "cost_micro_usd": 1_000_000})
    );
}
