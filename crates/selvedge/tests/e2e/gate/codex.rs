//! Codex with the plug-in of Selvedge's marketplace. Its user would review the hooks first.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{GatedAgent, plays};
use crate::fixtures::program;

const CODEX: GatedAgent = GatedAgent {
    name: "codex",
    scope: &["--user"],
    prepare: |_, _| None,
    start: |scene, prompt| {
        let provider = format!(
            "model_providers.loopback={{name=\"loopback\",base_url=\"{}/v1\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}}",
            scene.server.url()
        );
        let command = scene.env.command(program("codex"));
        command
            .args([
                "exec",
                "--dangerously-bypass-hook-trust",
                "--skip-git-repo-check",
            ])
            .args([
                "--dangerously-bypass-approvals-and-sandbox",
                "--model",
                "gpt-5",
            ])
            .args(["-c", "model_provider=\"loopback\"", "-c", &provider, prompt])
            .env("OPENAI_API_KEY", "dummy")
    },
    runs: |command| {
        // Without a long yield time, it polls the API while a command runs.
        let input = json!({"cmd": command, "yield_time_ms": 30_000});
        ScriptedTurn::tool("exec_command", input)
    },
};

plays!(CODEX: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
