//! Copilot CLI over the Agent Client Protocol, with a model provider of one's own on OpenAI's chat completions: then it
//! needs no account.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const ACP_COPILOT: TestedAgent = TestedAgent {
    name: "acp-copilot",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((ACP_COPILOT.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("copilot"), "--acp"]);
    format!(
        "kind = \"acp\"\nprogram = {program}\nmodel = \"gpt-5\"\nbase_url = \"{}/v1\"\n\
         env.COPILOT_OFFLINE = \"true\"\nenv.COPILOT_PROVIDER_API_KEY = \"dummy\"\n",
        server.url()
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "description": "As told"});
    ScriptedTurn::tool("bash", input)
}

plays!(ACP_COPILOT: success, fail_then_fix, refused, killed, hang, judge);
