//! OpenCode, over the Agent Client Protocol, on OpenAI's chat completions. It tells the tokens of its last step only.

use selvedge_testkit::{ModelServer, TestEnv, Turn};
use serde_json::json;

use super::{Played, plays};
use crate::stage::program;

const ACP_OPENCODE: Played = Played {
    name: "acp-opencode",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, said| super::solves((ACP_OPENCODE.writes)(env, text), said),
    tokens: [1_100, 10],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    silence: "40s",
    counts_retries: false,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let agent = super::opencode::provider(server);
    let program = json!([program("opencode"), "acp"]);
    format!("kind = \"acp\"\nprogram = {program}\nmodel = \"loopback/scripted\"\n{agent}")
}

fn runs(command: &str) -> Turn {
    let input = json!({"command": command, "description": "As told"});
    Turn::tool("bash", input)
}

plays!(ACP_OPENCODE: success, fail_then_fix, refused, killed, hang);
