//! The real Claude Code as the caller: its Stop hook, and Selvedge as its MCP server. The tests start the agent
//! directly, as a user would; its model is scripted.

use selvedge_testkit::{CommandOutput, Invocation, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use crate::fixtures::{MODEL, env_with_repo, program, writes};

/// A project whose check passes once `answer` contains 42.
fn project() -> TestEnv {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer\"\n",
    );
    env.commit("Add a check");
    env
}

/// `claude -p` with the scripted model.
fn claude(env: &TestEnv, server: &ModelServer, more: &[&str]) -> Invocation {
    let fixed = [
        "-p",
        "--output-format",
        "json",
        "--model",
        MODEL,
        "--permission-mode",
        "acceptEdits",
    ];
    env.command(program("claude"))
        .args(fixed.iter().chain(more))
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .stdin("Write the answer into the file `answer`.")
}

/// Writes the settings from the guide, with the path of this program.
fn with_hook(env: &TestEnv) {
    let hook = format!("'{}' hook claude-stop", env!("CARGO_BIN_EXE_selvedge"));
    let hook = json!({"type": "command", "command": hook, "timeout": 300});
    let settings = json!({"hooks": {"Stop": [{"hooks": [hook]}]}});
    env.write(".claude/settings.json", settings.to_string());
}

fn result(out: &CommandOutput) -> String {
    out.assert_code(0);
    out.json()["result"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn stop_hook_blocks_claude_code_until_checks_pass() {
    let env = project();
    with_hook(&env);
    let server = ModelServer::start([
        writes(&env, "41\n"),
        ScriptedTurn::text("It is 41."),
        writes(&env, "42\n"),
        ScriptedTurn::text("It is 42."),
    ]);
    let out = claude(&env, &server, &[]).run();
    assert_eq!(result(&out), "It is 42.");
    assert_eq!(server.turns_left(), 0);
    let request_bodies = server
        .requests()
        .iter()
        .map(|it| it.body.to_string())
        .collect::<String>();
    assert!(
        request_bodies.contains("answer: FAIL (exited with 1)"),
        "the digest reaches the model"
    );
    assert_eq!(env.read("answer"), "42\n");
}

#[test]
fn stop_hook_gives_up_on_an_agent_that_fixes_nothing() {
    let env = project();
    with_hook(&env);
    let server = ModelServer::start([
        ScriptedTurn::text("Done."),
        ScriptedTurn::text("Done again."),
        ScriptedTurn::text("Really done."),
        ScriptedTurn::text("It is not verified: I cannot mend it."),
    ]);
    let out = claude(&env, &server, &[]).run();
    assert_eq!(result(&out), "It is not verified: I cannot mend it.");
    assert_eq!(
        server.turns_left(),
        0,
        "three times held back, and then let go"
    );
}

#[test]
fn mcp_tools_serve_claude_code() {
    let env = project();
    let program = env!("CARGO_BIN_EXE_selvedge");
    let servers = json!({"mcpServers": {"selvedge": {"command": program, "args": ["mcp"]}}});
    let servers = env.write("../servers.json", servers.to_string());
    let server = ModelServer::start([
        ScriptedTurn::tool("mcp__selvedge__verify", json!({})),
        writes(&env, "42\n"),
        ScriptedTurn::tool("mcp__selvedge__verify", json!({})),
        ScriptedTurn::text("It is 42."),
    ]);
    let servers = servers.to_str().unwrap();
    let more = [
        "--mcp-config",
        servers,
        "--strict-mcp-config",
        "--allowedTools",
        "mcp__selvedge__verify",
    ];
    let out = claude(&env, &server, &more).run();
    assert_eq!(result(&out), "It is 42.");
    let last = server.requests().last().unwrap().body.to_string();
    for part in [
        "1 of 1 do not hold",
        "answer: FAIL (exited with 2)",
        "verified: 1 check passed",
    ] {
        assert!(last.contains(part), "{part} is missing in {last}");
    }
}
