//! The Stop hook as Claude Code calls it: JSON on standard input, an answer in JSON, and never an exit
//! code of 2, which would hold the agent back whatever the answer.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::env_with_repo;

/// A project whose check holds once the answer is right.
fn project() -> TestEnv {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer || { echo 'app.py:7: error: no answer'; exit 1; }\"\n",
    );
    env
}

fn says(env: &TestEnv, input: impl Into<Vec<u8>>) -> CommandOutput {
    let out = env.selvedge(["hook", "claude-stop"]).stdin(input).run();
    assert_ne!(out.code, 2, "{out}");
    out
}

/// The agent is about to stop.
fn stops(env: &TestEnv, session: &str, active: bool) -> Value {
    let input = json!({
        "session_id": session, "transcript_path": "/nowhere", "cwd": env.work_dir(), "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": active, "last_assistant_message": "All done!",
    });
    let out = says(env, input.to_string());
    out.assert_code(0);
    out.json()
}

#[test]
fn an_agent_is_held_back_with_the_digest_until_the_checks_hold() {
    let env = project();
    let answer = stops(&env, "s", false);
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
    let answer = stops(&env, "s", true);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert_eq!(
        answer["systemMessage"],
        "Selvedge: verified: 1 check passed"
    );
}

#[test]
fn it_gives_up_honestly_and_each_session_has_a_count_of_its_own() {
    let env = project();
    let blocked = |session, active| stops(&env, session, active)["decision"] == "block";
    assert!(blocked("one", false));
    assert!(blocked("one", true));
    assert!(blocked("two", false), "another session");
    assert!(blocked("one", true));
    for _ in 0..3 {
        let answer = stops(&env, "one", true);
        assert!(answer.get("decision").is_none(), "{answer}");
        let said = answer["systemMessage"].as_str().unwrap();
        assert!(
            said.contains("NOT VERIFIED") && said.contains("3 times"),
            "{said}"
        );
    }
    assert!(blocked("one", false), "a person spoke to it in between");
}

#[test]
fn what_is_no_input_of_a_hook_is_an_error_that_holds_nobody_back() {
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
        let out = says(&env, input);
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
    says(&env, good).assert_code(1);
}

#[test]
fn a_session_that_cannot_be_counted_is_held_back_once_at_most() {
    let env = project();
    std::fs::create_dir(env.state().join("selvedge")).unwrap();
    std::fs::write(env.state().join("selvedge/hooks"), "no folder").unwrap();
    assert_eq!(stops(&env, "s", false)["decision"], "block");
    let answer = stops(&env, "s", true);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert!(
        answer["systemMessage"]
            .as_str()
            .unwrap()
            .contains("cannot be counted")
    );
}

#[test]
fn it_leaves_alone_what_is_not_its_own() {
    let env = project();
    // A project without checks.
    env.write("elsewhere/README", "");
    std::fs::remove_file(env.work_dir().join("selvedge.toml")).unwrap();
    assert_eq!(stops(&env, "s", false), json!({}));
    // Checks that cannot be run are nothing that an agent could mend.
    env.write("selvedge.toml", "[[checks]]\nrun = \"no-such-program\"\n");
    let answer = stops(&env, "s", false);
    assert!(answer.get("decision").is_none(), "{answer}");
    assert!(
        answer["systemMessage"]
            .as_str()
            .unwrap()
            .contains("NOT VERIFIED")
    );
    // An agent of a run, which checks its work itself.
    env.write("selvedge.toml", "[[checks]]\nrun = \"false\"\n");
    let hook = env
        .selvedge(["hook", "claude-stop"])
        .env("SELVEDGE_RUN_ID", "x");
    let input = json!({"session_id": "s", "cwd": env.work_dir()}).to_string();
    assert_eq!(hook.stdin(input).run().json(), json!({}));
}

#[test]
fn the_project_is_claude_codes_and_help_shows_how_to_set_it_up() {
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
