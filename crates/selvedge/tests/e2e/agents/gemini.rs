//! Gemini CLI on Google's API.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const GEMINI: TestedAgent = TestedAgent {
    name: "gemini",
    settings,
    writes: |_, text| {
        let input = json!({"file_path": "answer", "content": text});
        ScriptedTurn::tool("write_file", input)
    },
    runs: |command| ScriptedTurn::tool("run_shell_command", json!({"command": command})),
    solves: |env, text, message| super::solves((GEMINI.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    format!(
        "program = {}\nmodel = \"gemini-2.5-pro\"\nbase_url = \"{}\"\n\
         env.GEMINI_API_KEY = \"dummy\"\n",
        json!([program("gemini")]),
        server.url()
    )
}

plays!(GEMINI: success, fail_then_fix, turn_limit, refused, overloaded, killed, hang, judge);
