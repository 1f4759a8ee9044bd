//! Failed tool calls: a file that was never written is a failure that goes back to the agent; failures that
//! were made up for, and all others, are only reported.

use selvedge_testkit::{CommandOutput, ModelServer, ScriptedTurn, TestEnv};
use serde_json::{Value, json};

use crate::corrected::configure;
use crate::fixtures::env_with_repo;

/// Runs a model with these turns, with `true` as the check.
fn run(env: &TestEnv, server: &ModelServer, more: &[&str]) -> CommandOutput {
    configure(
        env,
        &format!(
            "[agents.ollama]\nmodel = \"m\"\nbase_url = \"{}\"\n",
            server.url()
        ),
    );
    let fixed = [
        "run", "x", "--agent", "ollama", "--check", "true", "--format", "json",
    ];
    env.selvedge(fixed.iter().chain(more)).run()
}

fn edit(path: &str, old: &str) -> ScriptedTurn {
    ScriptedTurn::tool(
        "edit_file",
        json!({"path": path, "old_text": old, "new_text": "other"}),
    )
}

fn tool_call_check(out: &CommandOutput, attempt: usize) -> Value {
    let checks = out.json()["verification_history"][attempt - 1]["checks"].clone();
    let mut checks = checks.as_array().unwrap().clone().into_iter();
    checks
        .find(|check| check["type"] == "tool_calls")
        .unwrap_or_default()
}

#[test]
fn tool_call_that_failed_to_write_is_corrected() {
    let env = env_with_repo();
    let server = ModelServer::start([
        edit("README", "is not in it"),
        ScriptedTurn::text("Done."),
        edit("README", "small repository"),
        ScriptedTurn::text("Done now."),
    ]);
    let out = run(&env, &server, &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    let failed = tool_call_check(&out, 1);
    assert_eq!(
        (&failed["status"], &failed["failures"][0]["file"]),
        (&json!("fail"), &json!("README"))
    );
    let correction = server.requests_of(1)[2].user_texts().join("\n");
    for part in [
        "- tool_calls (tool calls): FAIL",
        "README",
        "edit_file failed",
    ] {
        assert!(
            correction.contains(part),
            "`{part}` is missing in:\n{correction}"
        );
    }
    assert_eq!(tool_call_check(&out, 2), Value::Null, "no call failed");
}

#[test]
fn tool_call_failure_without_effect_is_not_charged() {
    let env = env_with_repo();
    let turns = [
        edit("README", "is not in it"),
        ScriptedTurn::tool(
            "run_command",
            json!({"command": "echo more >> README; exit 3"}),
        ),
        ScriptedTurn::tool("search", json!({"pattern": "["})),
        ScriptedTurn::text("Done."),
    ];
    let server = ModelServer::start(turns.clone());
    let out = run(&env, &server, &["--retries", "0"]);
    out.assert_code(0);
    let noted = tool_call_check(&out, 1);
    assert_eq!(noted["status"], "pass");
    assert!(
        noted["output"]
            .as_str()
            .unwrap()
            .contains("edit_file README"),
        "{noted}"
    );

    env.write(
        "selvedge.toml",
        "[verification]\nfail_on_unresolved_write_errors = false\n",
    );
    let server = ModelServer::start([edit("README", "is not in it"), ScriptedTurn::text("Done.")]);
    let out = run(&env, &server, &["--retries", "0"]);
    // No other file was changed.
    out.assert_code(11);
    assert_eq!(out.json()["outcome"], "unchanged");
}
