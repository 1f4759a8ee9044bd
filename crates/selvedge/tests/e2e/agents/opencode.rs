//! OpenCode on OpenAI's chat completions. It retries an overloaded API for more than a minute, which cannot be
//! configured, so that scenario is omitted.

use std::fs;
use std::path::Path;

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

fn settings(env: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("opencode")]);
    let provider = provider(env, server);
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

/// Pretends that the package which OpenCode installs from the registry into each folder of settings is there. Its
/// installation takes half a minute, and no plug-in of the tests imports it.
pub(crate) fn skip_installation(settings: &Path) {
    let package = json!({"dependencies": {"@opencode-ai/plugin": "*"}});
    fs::create_dir_all(settings.join("node_modules")).unwrap();
    let files = [
        ("package.json", package.to_string()),
        (
            "package-lock.json",
            json!({"packages": {"": package}}).to_string(),
        ),
    ];
    for (name, text) in files {
        fs::write(settings.join(name), text).unwrap();
    }
}

/// Environment variables that set this server as the model and disable downloads.
pub(super) fn provider(env: &TestEnv, server: &ModelServer) -> String {
    skip_installation(&env.config().join("opencode"));
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
