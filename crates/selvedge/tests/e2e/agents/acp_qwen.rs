//! Qwen Code, over the Agent Client Protocol, on OpenAI's chat completions.

use selvedge_testkit::{ModelServer, TestEnv, Turn};
use serde_json::json;

use super::{Played, plays};
use crate::stage::program;

const ACP_QWEN: Played = Played {
    name: "acp-qwen",
    settings,
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, said| super::solves((ACP_QWEN.writes)(env, text), said),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    silence: "25s",
    counts_retries: false,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let program = json!([
        program("qwen"),
        "--acp",
        "--auth-type=openai",
        "--model",
        "qwen3-coder",
    ]);
    format!(
        "kind = \"acp\"\nprogram = {program}\nenv.OPENAI_BASE_URL = \"{}/v1\"\n\
         env.OPENAI_API_KEY = \"dummy\"\n",
        server.url()
    )
}

fn runs(command: &str) -> Turn {
    let input = json!({"command": command, "is_background": false});
    Turn::tool("run_shell_command", input)
}

plays!(ACP_QWEN: success, fail_then_fix, refused, killed, hang);
