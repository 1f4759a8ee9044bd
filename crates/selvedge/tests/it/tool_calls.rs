//! The calls of an agent's tools: what was to be written and never was goes back to the agent, what
//! was made up for does not, and all else that fails is only told.

use selvedge_testkit::{CommandOutput, ModelServer, ScriptedTurn, TestEnv};
use serde_json::{Value, json};

use crate::corrected::configure;
use crate::fixtures::env_with_repo;

/// A run of a model that says these turns, with `true` for a check.
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

fn look(out: &CommandOutput, attempt: usize) -> Value {
    let checks = out.json()["verification_history"][attempt - 1]["checks"].clone();
    let mut checks = checks.as_array().unwrap().clone().into_iter();
    checks
        .find(|check| check["type"] == "tool_calls")
        .unwrap_or_default()
}

#[test]
fn a_file_that_was_to_be_written_and_never_was_goes_back() {
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
    let failed = look(&out, 1);
    assert_eq!(
        (&failed["status"], &failed["failures"][0]["file"]),
        (&json!("fail"), &json!("README"))
    );
    let told = server.requests_of(1)[2].user_texts().join("\n");
    for part in [
        "- tool_calls (tool calls): FAIL",
        "README",
        "edit_file failed",
    ] {
        assert!(told.contains(part), "`{part}` is missing in:\n{told}");
    }
    assert_eq!(look(&out, 2), Value::Null, "no call failed");
}

#[test]
fn what_was_made_up_for_and_what_writes_nothing_is_charged_to_nobody() {
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
    let noted = look(&out, 1);
    assert_eq!(noted["status"], "pass");
    assert!(
        noted["output"]
            .as_str()
            .unwrap()
            .contains("edit_file README"),
        "{noted}"
    );

    env.write("selvedge.toml", "[verification]\ntool_calls = false\n");
    let server = ModelServer::start([edit("README", "is not in it"), ScriptedTurn::text("Done.")]);
    let out = run(&env, &server, &["--retries", "0"]);
    // Nothing else was changed.
    out.assert_code(11);
    assert_eq!(out.json()["outcome"], "unchanged");
}
