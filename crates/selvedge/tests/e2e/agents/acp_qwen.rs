//! Qwen Code over the Agent Client Protocol, on OpenAI's chat completions. It reports no tokens.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const ACP_QWEN: TestedAgent = TestedAgent {
    name: "acp-qwen",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((ACP_QWEN.writes)(env, text), message),
    tokens: [0, 0],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("qwen"), "--acp"]);
    format!(
        "kind = \"acp\"\nprogram = {program}\nmodel = \"qwen3-coder\"\nbase_url = \"{}/v1\"\n\
         env.OPENAI_API_KEY = \"dummy\"\n",
        server.url()
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "is_background": false});
    ScriptedTurn::tool("run_shell_command", input)
}

plays!(ACP_QWEN: success, fail_then_fix, refused, killed, hang, judge);
