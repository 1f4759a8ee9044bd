//! Copilot CLI with the user's hooks and a model server of one's own.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{GatedAgent, plays};
use crate::fixtures::program;

const COPILOT: GatedAgent = GatedAgent {
    name: "copilot",
    scope: &["--user"],
    prepare: |_, _| None,
    start: |scene, prompt| {
        let command = scene.env.command(program("copilot"));
        command
            .args(["--allow-all-tools", "--no-color", "-p", prompt])
            .env(
                "COPILOT_PROVIDER_BASE_URL",
                format!("{}/v1", scene.server.url()),
            )
            .env("COPILOT_MODEL", "gpt-4.1")
            .env("COPILOT_AUTO_UPDATE", "false")
    },
    runs: |command| {
        let input = json!({"command": command, "description": "As told", "mode": "sync"});
        ScriptedTurn::tool("bash", input)
    },
};

plays!(COPILOT: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
