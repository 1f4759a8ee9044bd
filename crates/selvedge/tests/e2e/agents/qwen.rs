//! Qwen Code on OpenAI's chat completions. It retries an overloaded API for more than a minute, which cannot be
//! configured, so that scenario is omitted.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const QWEN: TestedAgent = TestedAgent {
    name: "qwen",
    settings,
    // Its write tool requires that a file is read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((QWEN.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::Tool("structured_output"),
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    format!(
        "program = {}\nmodel = \"qwen3-coder\"\nbase_url = \"{}/v1\"\n\
         env.OPENAI_API_KEY = \"dummy\"\n",
        json!([program("qwen")]),
        server.url()
    )
}

fn runs(command: &str) -> ScriptedTurn {
    let input = json!({"command": command, "is_background": false});
    ScriptedTurn::tool("run_shell_command", input)
}

plays!(QWEN: success, fail_then_fix, turn_limit, refused, killed, hang, judge);
