//! Qwen Code, on OpenAI's chat completions. It takes more than a minute to give an overloaded API up,
//! and nothing makes it shorter: that is not played.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{TestedAgent, plays};
use crate::fixtures::program;

const QWEN: TestedAgent = TestedAgent {
    name: "qwen",
    settings,
    // Its tool for that wants a file read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, said| super::solves((QWEN.writes)(env, text), said),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    silence: "25s",
    counts_retries: false,
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

plays!(QWEN: success, fail_then_fix, turn_limit, refused, killed, hang);
