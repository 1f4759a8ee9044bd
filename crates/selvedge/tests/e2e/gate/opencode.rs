//! OpenCode with the plug-in of a repository. Its server runs the sessions: `opencode run` without one ends as soon as
//! a session is idle, before any plug-in can continue it.

use selvedge_testkit::{Invocation, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{AgentServer, GatedAgent, plays};
use crate::agents::{opencode_config, skip_opencode_installation};
use crate::fixtures::program;

const OPENCODE: GatedAgent = GatedAgent {
    name: "opencode",
    scope: &[],
    prepare: |env, server| {
        for settings in [
            env.config().join("opencode"),
            env.work_dir().join(".opencode"),
        ] {
            skip_opencode_installation(&settings);
        }
        let listening = "listening on ";
        let program = command(env, server).args(["serve", "--port", "0"]).spawn();
        program.wait_for_stdout(listening);
        program.wait_for_stdout("http://127.0.0.1:");
        let printed = program.stdout();
        let url = printed
            .split(listening)
            .nth(1)?
            .lines()
            .next()?
            .trim()
            .to_owned();
        Some(AgentServer {
            _program: program,
            url,
        })
    },
    start: |scene, prompt| {
        let url = &scene.agent_server.as_ref().unwrap().url;
        command(scene.env, scene.server).args([
            "run",
            "--attach",
            url,
            "-m",
            "loopback/scripted",
            prompt,
        ])
    },
    runs: |command| {
        let input = json!({"command": command, "description": "As told"});
        ScriptedTurn::tool("bash", input)
    },
};

fn command(env: &TestEnv, server: &ModelServer) -> Invocation {
    env.command(program("opencode"))
        .env("OPENCODE_CONFIG_CONTENT", opencode_config(server))
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
}

plays!(OPENCODE: pass, fail_then_fix, give_up, crash, no_checks, two_sessions);
