//! Droid over the Agent Client Protocol, with a model of one's own on OpenAI's chat completions. In its mode without
//! the network it accepts any key. It reports no tokens.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const ACP_DROID: TestedAgent = TestedAgent {
    name: "acp-droid",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((ACP_DROID.writes)(env, text), message),
    tokens: [0, 0],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::Text,
};

fn settings(env: &TestEnv, server: &ModelServer) -> String {
    let model = json!({
        "id": "custom:scripted",
        "model": "scripted",
        "displayName": "scripted",
        "provider": "generic-chat-completion-api",
        "baseUrl": format!("{}/v1", server.url()),
        "apiKey": "dummy",
        "maxOutputTokens": 8_000,
    });
    let folder = env.home().join(".factory");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = json!({"customModels": [model]}).to_string();
    std::fs::write(folder.join("settings.json"), settings).unwrap();
    let program = json!([program("droid"), "exec", "--output-format", "acp"]);
    format!(
        "kind = \"acp\"\nprogram = {program}\nmodel = \"custom:scripted\"\n\
         env.FACTORY_API_KEY = \"dummy\"\nenv.FACTORY_AIRGAP_ENABLED = \"true\"\n"
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({
        "command": command,
        "summary": "As told",
        "riskLevel": "low",
        "riskLevelReason": "It writes one file",
        "timeout": 600,
    });
    ScriptedTurn::tool("Execute", input)
}

plays!(ACP_DROID: success, fail_then_fix, refused, killed, hang, judge);
