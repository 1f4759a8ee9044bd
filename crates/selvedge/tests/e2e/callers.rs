//! The real Claude Code as the caller of Selvedge's MCP server. The tests start the agent directly, as a user would; its
//! model is scripted.

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

fn result(out: &CommandOutput) -> String {
    out.assert_code(0);
    out.json()["result"].as_str().unwrap_or_default().to_owned()
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
        "1 of 1 failed",
        "answer: FAIL (exited with 2)",
        "verified: 1 check passed",
    ] {
        assert!(last.contains(part), "{part} is missing in {last}");
    }
}
