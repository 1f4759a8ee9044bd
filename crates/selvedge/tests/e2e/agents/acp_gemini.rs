//! Gemini CLI over the Agent Client Protocol, on Google's API. It reads and writes files through Selvedge.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const ACP_GEMINI: TestedAgent = TestedAgent {
    name: "acp-gemini",
    settings,
    writes: |env, text| {
        // It requests files by absolute paths.
        let input = json!({"file_path": env.work_dir().join("answer"), "content": text});
        ScriptedTurn::tool("write_file", input)
    },
    runs: |command| ScriptedTurn::tool("run_shell_command", json!({"command": command})),
    solves: |env, text, message| super::solves((ACP_GEMINI.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::Text,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([program("gemini"), "--acp", "--model", "gemini-2.5-pro"]);
    format!(
        "kind = \"acp\"\nprogram = {program}\nenv.GOOGLE_GEMINI_BASE_URL = \"{}\"\n\
         env.GEMINI_API_KEY = \"dummy\"\n",
        server.url()
    )
}

plays!(ACP_GEMINI: success, fail_then_fix, refused, killed, hang, judge);
