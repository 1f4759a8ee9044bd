//! Claude Code with the plug-in of a repository, in a trusted directory.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{GatedAgent, plays};
use crate::fixtures::{MODEL, program};

const CLAUDE: GatedAgent = GatedAgent {
    name: "claude",
    scope: &[],
    prepare: |env, _| {
        let work_dir = env.work_dir().canonicalize().unwrap();
        let trusted =
            json!({"projects": {work_dir.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
        let settings = env.home().join(".claude.json");
        std::fs::write(settings, trusted.to_string()).unwrap();
        None
    },
    start: |scene, prompt| {
        let command = scene.env.command(program("claude"));
        command
            .args(["-p", "--model", MODEL, "--permission-mode", "acceptEdits"])
            .arg("--allowedTools=Bash")
            .env("ANTHROPIC_BASE_URL", scene.server.url())
            .env("ANTHROPIC_API_KEY", "dummy")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .stdin(prompt)
    },
    runs: |command| ScriptedTurn::tool("Bash", json!({"command": command})),
};

plays!(CLAUDE: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
