//! Gemini CLI with the extension.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{GatedAgent, plays};
use crate::fixtures::program;

const GEMINI: GatedAgent = GatedAgent {
    name: "gemini",
    scope: &["--user"],
    prepare: |env, _| {
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        let folder = env.home().join(".gemini");
        std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        None
    },
    start: |scene, prompt| {
        let command = scene.env.command(program("gemini"));
        command
            .args([
                "--model",
                "gemini-2.5-pro",
                "--approval-mode=yolo",
                "--skip-trust",
            ])
            .args(["-p", prompt])
            .env("GOOGLE_GEMINI_BASE_URL", scene.server.url())
            .env("GEMINI_API_KEY", "dummy")
    },
    runs: |command| ScriptedTurn::tool("run_shell_command", json!({"command": command})),
};

plays!(GEMINI: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
