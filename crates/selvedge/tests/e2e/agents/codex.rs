//! Codex on OpenAI's Responses API.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const CODEX: TestedAgent = TestedAgent {
    name: "codex",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((CODEX.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "15s",
    counts_retries: true,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let codex = json!([program("codex")]);
    format!(
        "program = {codex}\nmodel = \"gpt-5\"\nbase_url = \"{}/v1\"\n\
         env.OPENAI_API_KEY = \"dummy\"\n",
        server.url()
    )
}

fn runs(command: &str) -> ScriptedTurn {
    // Without a long yield time, it polls the API while a command runs.
    let input = json!({"cmd": command, "yield_time_ms": 30_000});
    ScriptedTurn::tool("exec_command", input)
}

plays!(CODEX: success, fail_then_fix, refused, overloaded, killed, hang, judge);
