//! OpenCode, on OpenAI's chat completions. It takes more than a minute to give an overloaded API up,
//! and nothing makes it shorter: that is not played.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{TestedAgent, plays};
use crate::fixtures::program;

const OPENCODE: TestedAgent = TestedAgent {
    name: "opencode",
    settings,
    // Its tool for that wants a file read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, said| super::solves((OPENCODE.writes)(env, text), said),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    silence: "40s",
    counts_retries: false,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("opencode")]);
    let provider = provider(server);
    format!("program = {program}\nmodel = \"loopback/scripted\"\n{provider}")
}

/// The environment in which it has this server for its model, and looks nothing up.
pub(super) fn provider(server: &ModelServer) -> String {
    let limit = json!({"context": 100_000, "output": 8_000});
    let model = json!({"name": "scripted", "tool_call": true, "limit": limit});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{}/v1", server.url()), "apiKey": "dummy"},
        "models": {"scripted": model},
    });
    let config = json!({"provider": {"loopback": provider}}).to_string();
    format!(
        "env.OPENCODE_CONFIG_CONTENT = '{config}'\n\
         env.OPENCODE_DISABLE_MODELS_FETCH = \"1\"\nenv.OPENCODE_DISABLE_LSP_DOWNLOAD = \"1\"\n",
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "description": "As told"});
    ScriptedTurn::tool("bash", input)
}

plays!(OPENCODE: success, fail_then_fix, refused, killed, hang);
