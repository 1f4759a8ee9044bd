//! The stop gate as agents' programs call it: JSON on standard input and output, and never exit code 2, which would
//! hold an agent regardless of the output.

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
    env.write("answer", "42\n");
    env.commit("Add a check");
    env
}

fn run_hook(env: &TestEnv, agent: &str, input: impl Into<Vec<u8>>) -> CommandOutput {
    let out = env.selvedge(["hook", agent]).stdin(input).run();
    out.assert_code(0);
    out
}

/// Calls the hook of Claude Code with an event.
fn call(env: &TestEnv, session: &str, event: &str, more: &Value) -> Value {
    let mut input = json!({
        "session_id": session, "transcript_path": "/nowhere", "cwd": env.work_dir(), "permission_mode": "default",
        "hook_event_name": event,
    });
    let fields = more.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    run_hook(env, "claude", input.to_string()).json()
}

fn start(env: &TestEnv, session: &str) {
    assert_eq!(
        call(env, session, "SessionStart", &json!({"source": "startup"})),
        json!({})
    );
}

fn prompt(env: &TestEnv, session: &str, text: &str) {
    assert_eq!(
        call(env, session, "UserPromptSubmit", &json!({"prompt": text})),
        json!({})
    );
}

/// The answer to an agent that wants to stop.
fn stop(env: &TestEnv, session: &str, is_continuation: bool) -> Value {
    let more = json!({"stop_hook_active": is_continuation, "last_assistant_message": "All done!"});
    call(env, session, "Stop", &more)
}

fn message(answer: &Value) -> &str {
    assert!(answer.get("decision").is_none(), "{answer}");
    answer["systemMessage"].as_str().unwrap()
}

fn runs(env: &TestEnv) -> Vec<Value> {
    let list = env.selvedge(["list", "--format", "jsonl"]).run();
    if list.code == 0 {
        list.jsonl()
    } else {
        Vec::new()
    }
}

#[test]
fn gate_refuses_until_checks_pass_and_records_a_run() {
    let env = project();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    assert_eq!(stop(&env, "s", false), json!({}), "nothing was changed");
    assert!(runs(&env).is_empty(), "a question is not a run");

    prompt(&env, "s", "Change the answer to 43");
    env.write("answer", "43\n");
    let answer = stop(&env, "s", false);
    assert_eq!(answer["decision"], "block", "{answer}");
    let reason = answer["reason"].as_str().unwrap();
    for part in [
        "VERIFICATION RETRY 1/3",
        "app.py:7",
        "REGRESSION",
        "UNTRUSTED-",
    ] {
        assert!(reason.contains(part), "{part} is missing in {reason}");
    }
    assert!(!reason.contains("fresh session"), "{reason}");
    env.write("answer", "42 and more\n");
    let answer = stop(&env, "s", true);
    let verdict = message(&answer);
    assert!(
        verdict.starts_with("Selvedge: verified: 1 check passed"),
        "{answer}"
    );

    let listed = runs(&env);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let shown = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(shown["result"]["outcome"], "verified", "{shown}");
    assert_eq!(shown["result"]["verification_attempts"], 2);
    assert_eq!(shown["attempts"][0]["session"]["session_id"], "s");
    assert_eq!(shown["attempts"][0]["session"]["text"], "All done!");
    let details = env.selvedge(["show"]).run();
    assert!(
        details.stdout.contains("Change the answer to 43"),
        "{details}"
    );
    let diff = env.selvedge(["show", "--diff"]).run();
    assert!(diff.stdout.contains("+42 and more"), "{diff}");
    let output = env
        .selvedge(["show", "--attempt", "1", "--check", "1"])
        .run();
    assert!(output.stdout.contains("app.py:7"), "{output}");
    let stats = env.selvedge(["stats", "--format", "json"]).run();
    assert!(stats.stdout.contains("claude"), "{stats}");

    // The verified state is the start of the next work.
    prompt(&env, "s", "Thanks");
    assert_eq!(stop(&env, "s", false), json!({}));
}

#[test]
fn gate_lets_go_after_a_bounded_number_of_refusals() {
    let env = project();
    start(&env, "one");
    prompt(&env, "one", "Change the answer");
    let attempt = |session: &str, number: usize, is_continuation| {
        // Different failures, because the same ones twice end the run earlier.
        let check = format!(
            "echo 'app.py:{number}: error: no answer {number}' > report; echo {number} > answer"
        );
        env.command("sh").args(["-c", &check]).run();
        stop(&env, session, is_continuation)
    };
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer || { cat report; exit 1; }\"\n",
    );
    env.commit("Report");
    start(&env, "two");
    for number in 1..=3 {
        let answer = attempt("two", number, number > 1);
        assert_eq!(answer["decision"], "block", "{answer}");
        let is_last = answer["reason"].as_str().unwrap().contains("last time");
        assert_eq!(is_last, number == 3, "{answer}");
    }
    let answer = attempt("two", 4, true);
    let verdict = message(&answer);
    assert!(
        verdict.contains("NOT VERIFIED") && verdict.contains("selvedge show"),
        "{verdict}"
    );
    let shown = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(shown["result"]["outcome"], "max_retries_exhausted");
    // Another prompt begins another run, compared with the same start.
    prompt(&env, "two", "Try again");
    assert_eq!(attempt("two", 5, false)["decision"], "block");
    // The other session has its own run and its own settings.
    let answer = stop(&env, "one", false);
    assert_eq!(answer["decision"], "block", "{answer}");
    assert!(
        answer["reason"].as_str().unwrap().contains("RETRY 1/3"),
        "{answer}"
    );
}

#[test]
fn gate_lets_an_agent_go_that_repeats_a_failure_or_gives_up() {
    let env = project();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    assert_eq!(stop(&env, "s", false)["decision"], "block");
    let answer = stop(&env, "s", true);
    assert!(message(&answer).contains("NOT VERIFIED (stuck"), "{answer}");

    prompt(&env, "s", "Change it to 7, but keep the check");
    assert_eq!(stop(&env, "s", false)["decision"], "block");
    let more = json!({
        "stop_hook_active": true,
        "last_assistant_message": "Sorry.\nCANNOT_SATISFY: the check wants 42",
    });
    let answer = call(&env, "s", "Stop", &more);
    assert!(message(&answer).contains("the check wants 42"), "{answer}");
}

/// Some programs submit the feedback as a prompt, and mark the next stop as not caused by a hook.
#[test]
fn gate_continues_the_run_if_its_feedback_returns_as_a_prompt() {
    let env = project();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    let answer = stop(&env, "s", false);
    prompt(&env, "s", answer["reason"].as_str().unwrap());
    // The result of a tool.
    prompt(&env, "s", "");
    env.write("answer", "42 again\n");
    assert!(message(&stop(&env, "s", false)).starts_with("Selvedge: verified"));
    let shown = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(shown["result"]["verification_attempts"], 2, "{shown}");
    assert_eq!(runs(&env).len(), 1);
}

#[test]
fn gate_compares_with_the_tests_at_the_start_of_the_session() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"tests\"\nrun = \"sh tests/test_answer.sh\"\n",
    );
    env.write("tests/test_answer.sh", "grep -q 42 answer\n");
    env.write("answer", "41\n");
    env.commit("Add a failing test");
    start(&env, "s");
    prompt(&env, "s", "Fix the test");
    env.write("tests/test_answer.sh", "grep -q 41 answer\n");
    let answer = stop(&env, "s", false);
    assert_eq!(answer["decision"], "block", "{answer}");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("original tests"), "{reason}");
    // Another prompt does not make the weakened test the original one.
    prompt(&env, "s", "Go on");
    assert_eq!(stop(&env, "s", false)["decision"], "block");
    env.write("tests/test_answer.sh", "grep -q 42 answer\n");
    env.write("answer", "42\n");
    let answer = stop(&env, "s", true);
    assert!(
        message(&answer).starts_with("Selvedge: verified"),
        "{answer}"
    );
    assert_eq!(
        env.read("tests/test_answer.sh"),
        "grep -q 42 answer\n",
        "nothing is reverted"
    );
}

#[test]
fn gate_uses_the_settings_at_the_start_of_the_session() {
    let env = project();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"true\"\n",
    );
    let answer = stop(&env, "s", false);
    assert_eq!(answer["decision"], "block", "{answer}");
    assert!(
        answer["reason"].as_str().unwrap().contains("grep -q 42"),
        "{answer}"
    );
}

#[test]
fn gate_lets_go_if_it_fails_itself() {
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
        &huge,
        &other,
    ] {
        let out = run_hook(&env, "claude", input);
        assert!(message(&out.json()).contains("NOT VERIFIED"), "{out}");
        assert!(out.stderr.starts_with("error: "), "{out}");
    }
    let good =
        json!({"session_id": "s", "hook_event_name": "Stop", "cwd": env.work_dir()}).to_string();
    for args in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "claude", "--max-refusals", "8"],
    ] {
        env.selvedge(args).stdin(good.as_str()).run().assert_code(1);
    }
    // Invalid settings, before the work and after it.
    env.write("selvedge.toml", "[[checks]]\nrun = 7\n");
    let answer = call(&env, "bad", "SessionStart", &json!({}));
    assert!(message(&answer).contains("NOT VERIFIED"), "{answer}");
    env.write("answer", "41\n");
    assert!(message(&stop(&env, "bad", false)).contains("NOT VERIFIED"));
    // A state directory that cannot be written.
    let blocked = env.write("blocked", "no folder");
    let hook = env
        .selvedge(["hook", "claude"])
        .env("XDG_STATE_HOME", &blocked);
    let answer = hook.stdin(good.as_str()).run();
    answer.assert_code(0);
    assert!(message(&answer.json()).contains("NOT VERIFIED"), "{answer}");
}

#[test]
fn gate_lets_go_if_a_check_cannot_run() {
    let env = project();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"x\"\nrun = \"echo 'write failed: No space left on device' >&2; exit 1\"\n",
    );
    env.commit("Break the check");
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    let answer = stop(&env, "s", false);
    assert!(message(&answer).contains("NOT VERIFIED"), "{answer}");
}

#[test]
fn gate_is_silent_without_checks_and_in_own_runs() {
    let env = project();
    std::fs::remove_file(env.work_dir().join("selvedge.toml")).unwrap();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    assert_eq!(stop(&env, "s", false), json!({}));
    // An agent of a Selvedge run, which checks the work itself.
    env.write("selvedge.toml", "[[checks]]\nrun = \"false\"\n");
    let input = json!({"session_id": "t", "hook_event_name": "Stop", "cwd": env.work_dir()});
    let hook = env.selvedge(["hook", "claude"]).env("SELVEDGE_RUN_ID", "x");
    assert_eq!(hook.stdin(input.to_string()).run().json(), json!({}));
}

#[test]
fn gate_without_a_start_event_only_runs_the_checks() {
    let env = project();
    env.write("deep/down/file", "");
    env.write("answer", "41\n");
    let input = json!({"session_id": "s", "cwd": "/", "hook_event_name": "Stop"}).to_string();
    let hook = env
        .selvedge(["hook", "claude"])
        .env("CLAUDE_PROJECT_DIR", env.work_dir().join("deep/down"));
    let answer = hook.stdin(input).run().json();
    assert_eq!(answer["decision"], "block", "{answer}");
}

#[test]
fn run_of_a_session_is_cancelled_when_the_session_ends() {
    let env = project();
    start(&env, "s");
    prompt(&env, "s", "Change the answer");
    env.write("answer", "41\n");
    assert_eq!(stop(&env, "s", false)["decision"], "block");
    let resumed = env.selvedge(["resume"]).run();
    resumed.assert_code(2);
    assert!(
        resumed.stderr.contains("belongs to a session of claude"),
        "{resumed}"
    );
    call(&env, "s", "SessionEnd", &json!({"reason": "other"}));
    let shown = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(shown["result"]["outcome"], "cancelled", "{shown}");
}

#[test]
fn gate_answers_each_agent_in_its_terms() {
    let env = project();
    for (agent, events, refused) in [
        ("codex", ["SessionStart", "Stop"], "decision"),
        ("gemini", ["SessionStart", "AfterAgent"], "decision"),
        ("qwen", ["SessionStart", "Stop"], "decision"),
        ("copilot", ["SessionStart", "Stop"], "decision"),
        ("opencode", ["UserPromptSubmit", "Stop"], "decision"),
        ("cursor", ["sessionStart", "stop"], "followup_message"),
    ] {
        env.write("answer", "42\n");
        let input = |event: &str| {
            json!({
                "session_id": agent, "conversation_id": agent, "hook_event_name": event,
                "cwd": env.work_dir(), "workspace_roots": [env.work_dir()], "prompt": "do it",
            })
            .to_string()
        };
        run_hook(&env, agent, input(events[0]));
        env.write("answer", "41\n");
        let answer = run_hook(&env, agent, input(events[1])).json();
        assert!(answer.get(refused).is_some(), "{agent}: {answer}");
    }
    assert_eq!(runs(&env).len(), 6);
}
