//! Caps on money, tokens and time, of a run and of an attempt, through the real binary: held while a
//! session works where its agent tells what it uses, between attempts everywhere, and refused or told
//! where they cannot hold.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, run_json};

const FAILS: &str = "test -e done";

/// A line that says what was used so far, as Claude Code does.
fn used(input: u64) -> String {
    let usage = json!({"input_tokens": input, "output_tokens": 0});
    let message = json!({"id": "1", "model": "claude-sonnet-4-6", "usage": usage, "content": []});
    let record = json!({"type": "assistant", "message": message});
    format!("echo '{record}'\n")
}

const ENDS: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'"#;
const HANGS: &str = "sleep 600";

fn ended(env: &TestEnv, body: &str, more: &[&str]) -> CommandOutput {
    let out = run_json(env, &agent(env, body), FAILS, more);
    assert!(env.processes().is_empty(), "{:?}", env.processes());
    out
}

#[track_caller]
fn stops(more: &[&str], words: &str) {
    let env = env_with_repo();
    let body = used(2_000) + HANGS;
    let out = ended(&env, &body, more);
    out.assert_code(6);
    let result = out.json();
    assert_eq!(result["outcome"], "budget");
    assert!(
        result["reason"].to_string().contains(words),
        "{}",
        result["reason"]
    );
    assert_eq!(result["verification_attempts"], 0);
}

#[test]
fn a_session_is_stopped_while_it_works() {
    stops(
        &["--max-tokens", "1500"],
        "the cap on tokens was reached: 2000",
    );
    stops(
        &["--max-cost", "0.001"],
        "the cap on cost was reached: $0.0060",
    );
    stops(&["--max-wall", "1s"], "the run's cap of 1 s on time");
}

#[test]
fn an_attempt_has_caps_of_its_own() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_tokens = 1500\n");
    let out = ended(&env, &(used(2_000) + HANGS), &[]);
    out.assert_code(6);
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_cost_usd = 0.001\n");
    ended(&env, &(used(2_000) + HANGS), &[]).assert_code(6);
    let env = env_with_repo();
    env.write("selvedge.toml", "[budget]\nattempt_tokens = 1500\n");
    let works = used(1_000) + "[ $SELVEDGE_RUN_NUMBER = 2 ] && touch done\n" + ENDS;
    let out = ended(&env, &works, &[]);
    out.assert_code(0);
    assert_eq!(
        out.json()["verification_attempts"],
        2,
        "each attempt afresh"
    );
}

#[test]
fn no_attempt_begins_that_would_go_past_a_cap() {
    let env = env_with_repo();
    let out = ended(&env, &(used(600) + ENDS), &["--max-tokens", "1000"]);
    out.assert_code(6);
    assert_eq!(out.json()["verification_attempts"], 1);
    assert_eq!(out.json()["verification_status"], "partial_pass");
}

#[test]
fn what_is_done_when_a_cap_is_reached_is_verified_all_the_same() {
    let env = env_with_repo();
    let body = format!("touch done\n{{ {}{ENDS}\n}} | cat\n", used(2_000));
    let out = ended(&env, &body, &["--max-tokens", "2000"]);
    assert!([0, 6].contains(&out.code), "{out}");
}

#[test]
fn a_cap_that_cannot_hold_is_told_or_refused() {
    for cap in [["--max-cost", "1"], ["--max-tokens", "1000"]] {
        let env = env_with_repo();
        let ran = env.root().join("prompts/1");
        let out = ended(
            &env,
            "touch done",
            &[&cap[..], &["--strict-budget"]].concat(),
        );
        out.assert_code(2);
        assert!(out.stderr.contains("cannot hold"), "{}", out.stderr);
        assert!(!ran.exists(), "nothing was run");
        let out = ended(&env, "touch done", &cap);
        out.assert_code(0);
        assert!(out.stderr.contains("cannot hold"), "{}", out.stderr);
    }
    // Time needs nobody to tell it.
    let env = env_with_repo();
    let out = ended(&env, "touch done", &["--max-wall", "1h", "--strict-budget"]);
    out.assert_code(0);
}

#[test]
fn a_task_that_sets_one_cap_keeps_the_others_of_the_settings() {
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
