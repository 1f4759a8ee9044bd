//! OpenCode over the Agent Client Protocol, on OpenAI's chat completions. It reports the tokens of its last
//! step only.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const ACP_OPENCODE: TestedAgent = TestedAgent {
    name: "acp-opencode",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((ACP_OPENCODE.writes)(env, text), message),
    tokens: [1_100, 10],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "40s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(env: &TestEnv, server: &ModelServer) -> String {
    let agent = super::opencode::provider(env, server);
    let program = json!([program("opencode"), "acp"]);
    format!("kind = \"acp\"\nprogram = {program}\nmodel = \"loopback/scripted\"\n{agent}")
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "description": "As told"});
    ScriptedTurn::tool("bash", input)
}

plays!(ACP_OPENCODE: success, fail_then_fix, refused, killed, hang, judge);
