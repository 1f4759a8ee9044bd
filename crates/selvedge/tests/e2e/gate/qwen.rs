//! Qwen Code with the extension.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{GatedAgent, plays};
use crate::fixtures::program;

const QWEN: GatedAgent = GatedAgent {
    name: "qwen",
    scope: &["--user"],
    prepare: |_, _| None,
    start: |scene, prompt| {
        let command = scene.env.command(program("qwen"));
        command
            .args([
                "--model",
                "qwen3-coder",
                "--approval-mode=yolo",
                "--auth-type=openai",
            ])
            .args(["-p", prompt])
            .env("OPENAI_BASE_URL", format!("{}/v1", scene.server.url()))
            .env("OPENAI_API_KEY", "dummy")
    },
    runs: |command| {
        let input = json!({"command": command, "is_background": false});
        ScriptedTurn::tool("run_shell_command", input)
    },
};

plays!(QWEN: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
