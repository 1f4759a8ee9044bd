//! OpenCode on OpenAI's chat completions. It retries an overloaded API for more than a minute, which cannot be
//! configured, so that scenario is omitted.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const OPENCODE: TestedAgent = TestedAgent {
    name: "opencode",
    settings,
    // Its write tool requires that a file is read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((OPENCODE.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "40s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("opencode")]);
    let provider = provider(server);
    format!("program = {program}\nmodel = \"loopback/scripted\"\n{provider}")
}

/// Settings with this server as the model `loopback/scripted`.
pub(crate) fn config(server: &ModelServer) -> String {
    let limit = json!({"context": 100_000, "output": 8_000});
    let model = json!({"name": "scripted", "tool_call": true, "limit": limit});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{}/v1", server.url()), "apiKey": "dummy"},
        "models": {"scripted": model},
    });
    json!({"provider": {"loopback": provider}}).to_string()
}

/// Environment variables that set this server as the model and disable downloads.
pub(super) fn provider(server: &ModelServer) -> String {
    let config = config(server);
    format!(
        "env.OPENCODE_CONFIG_CONTENT = '{config}'\n\
         env.OPENCODE_DISABLE_MODELS_FETCH = \"1\"\nenv.OPENCODE_DISABLE_LSP_DOWNLOAD = \"1\"\n",
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "description": "As told"});
    ScriptedTurn::tool("bash", input)
}

plays!(OPENCODE: success, fail_then_fix, refused, killed, hang, judge);
