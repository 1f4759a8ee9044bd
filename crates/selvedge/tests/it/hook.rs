//! The Stop hook as Claude Code calls it: JSON on standard input and output, and never exit code 2, which would
//! block the agent regardless of the output.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::env_with_repo;

/// A project whose check passes once `answer` contains 42.
fn project() -> TestEnv {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer || { echo 'app.py:7: error: no answer'; exit 1; }\"\n",
    );
    env
}

fn run_hook(env: &TestEnv, input: impl Into<Vec<u8>>) -> CommandOutput {
    let out = env.selvedge(["hook", "claude-stop"]).stdin(input).run();
    assert_ne!(out.code, 2, "{out}");
    out
}

/// Calls the hook as an agent that is about to stop; returns the output.
fn stop_agent(env: &TestEnv, session: &str, active: bool) -> Value {
    let input = json!({
        "session_id": session, "transcript_path": "/nowhere", "cwd": env.work_dir(), "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": active, "last_assistant_message": "All done!",
    });
    let out = run_hook(env, input.to_string());
    out.assert_code(0);
    out.json()
}

#[test]
fn hook_blocks_with_the_digest_until_checks_pass() {
    let env = project();
    let answer = stop_agent(&env, "s", false);
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    for part in [
        "1 of 1",
        "answer: FAIL (exited with 1)",
        "app.py:7",
        "UNTRUSTED-",
    ] {
        assert!(reason.contains(part), "{part} is missing in {reason}");
    }
    env.write("answer", "42\n");
    let answer = stop_agent(&env, "s", true);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert_eq!(
        answer["systemMessage"],
        "Selvedge: verified: 1 check passed"
    );
}

#[test]
fn hook_gives_up_after_three_blocks_per_session() {
    let env = project();
    let blocked = |session, active| stop_agent(&env, session, active)["decision"] == "block";
    assert!(blocked("one", false));
    assert!(blocked("one", true));
    assert!(blocked("two", false), "another session");
    assert!(blocked("one", true));
    for _ in 0..3 {
        let answer = stop_agent(&env, "one", true);
        assert!(answer.get("decision").is_none(), "{answer}");
        let message = answer["systemMessage"].as_str().unwrap();
        assert!(
            message.contains("NOT VERIFIED") && message.contains("3 times"),
            "{message}"
        );
    }
    assert!(blocked("one", false), "a person spoke to it in between");
}

#[test]
fn hook_input_errors_never_block() {
    let env = project();
    let huge = format!(r#"{{"session_id": "{}"}}"#, "x".repeat(17 << 20));
    let other = json!({"session_id": "s", "hook_event_name": "PreToolUse"}).to_string();
    for input in [
        "",
        "{",
        "[]",
        "no json",
        "{}",
        r#"{"session_id": 7}"#,
        r#"{"session_id": ""}"#,
        &huge,
        &other,
    ] {
        let out = run_hook(&env, input);
        out.assert_code(1);
        assert_eq!(out.stdout, "");
        assert!(out.stderr.starts_with("error: "), "{out}");
    }
    let good = json!({"session_id": "s", "cwd": env.work_dir()}).to_string();
    for args in [
        &["hook"][..],
        &["hook", "claude-start"],
        &["hook", "claude-stop", "--max-blocks", "8"],
    ] {
        env.selvedge(args).stdin(good.as_str()).run().assert_code(1);
    }
    env.write("selvedge.toml", "[[checks]]\nrun = 7\n");
    run_hook(&env, good).assert_code(1);
}

#[test]
fn hook_without_a_counter_blocks_at_most_once() {
    let env = project();
    std::fs::create_dir(env.state().join("selvedge")).unwrap();
    std::fs::write(env.state().join("selvedge/hooks"), "no folder").unwrap();
    assert_eq!(stop_agent(&env, "s", false)["decision"], "block");
    let answer = stop_agent(&env, "s", true);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert!(
        answer["systemMessage"]
            .as_str()
            .unwrap()
            .contains("cannot be stored")
    );
}

#[test]
fn hook_ignores_projects_without_checks_and_own_runs() {
    let env = project();
    // A project without checks.
    env.write("elsewhere/README", "");
    std::fs::remove_file(env.work_dir().join("selvedge.toml")).unwrap();
    assert_eq!(stop_agent(&env, "s", false), json!({}));
    // Checks that cannot be run, which an agent could not fix.
    env.write("selvedge.toml", "[[checks]]\nrun = \"no-such-program\"\n");
    let answer = stop_agent(&env, "s", false);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert!(
        answer["systemMessage"]
            .as_str()
            .unwrap()
            .contains("NOT VERIFIED")
    );
    // An agent of a Selvedge run, which checks the work itself.
    env.write("selvedge.toml", "[[checks]]\nrun = \"false\"\n");
    let hook = env
        .selvedge(["hook", "claude-stop"])
        .env("SELVEDGE_RUN_ID", "x");
    let input = json!({"session_id": "s", "cwd": env.work_dir()}).to_string();
    assert_eq!(hook.stdin(input).run().json(), json!({}));
}

#[test]
fn hook_uses_the_project_dir_of_claude_code() {
    let env = project();
    env.write("deep/down/file", "");
    let input = json!({"session_id": "s", "cwd": "/"}).to_string();
    let hook = env
        .selvedge(["hook", "claude-stop"])
        .env("CLAUDE_PROJECT_DIR", env.work_dir().join("deep/down"));
    assert_eq!(hook.stdin(input).run().json()["decision"], "block");
    let help = env.selvedge(["hook", "--help"]).run();
    help.assert_code(0);
    assert!(
        help.stdout
            .contains("\"command\": \"selvedge hook claude-stop\""),
        "{help}"
    );
}
