//! Usage limits of a subscription, as the real programs report them: the run waits until they are reset, and uses no
//! retry.

use selvedge_testkit::{ModelScript, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use crate::corrected::{CHECK, TASK, configure};
use crate::fixtures::{MODEL, env_with_repo, program};

fn assert_waits(env: &TestEnv, server: &ModelServer, agent: &str) {
    let command = ["run", TASK, "--agent", agent, "--check", CHECK];
    let more = ["--retries", "0", "--format", "json"];
    let out = env
        .selvedge(command.iter().chain(&more))
        .env("TEST_LOGIN", "sk-ant-oat01-dummy")
        .run();
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 1);
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["attempts"][0]["closing"], "usage_limit", "{story}");
    assert_eq!(story["attempts"][1]["closing"], "report");
    assert_eq!(server.turns_left(), 0);
}

#[test]
fn claude_is_waited_for() {
    let env = env_with_repo();
    let write = json!({"command": "echo 42 > answer"});
    // Claude Code names its sessions, so each has a script of its own.
    let script = ModelScript::default().session([ScriptedTurn::usage_limit(3)]);
    let server = ModelServer::start(script.session([
        ScriptedTurn::tool("Bash", write),
        ScriptedTurn::text("It is 42."),
    ]));
    // Only a login with a subscription has such limits.
    configure(
        &env,
        &format!(
            "[agents.claude]\nprogram = {}\nmodel = \"{MODEL}\"\nenv.ANTHROPIC_BASE_URL = \"{}\"\n\
             env.CLAUDE_CODE_OAUTH_TOKEN = {{ from = \"TEST_LOGIN\" }}\n",
            json!([program("claude")]),
            server.url()
        ),
    );
    assert_waits(&env, &server, "claude");
}

#[test]
fn codex_is_waited_for() {
    let env = env_with_repo();
    let write = json!({"cmd": "echo 42 > answer", "yield_time_ms": 30_000});
    let server = ModelServer::start([
        ScriptedTurn::usage_limit(1),
        ScriptedTurn::tool("exec_command", write),
        ScriptedTurn::text("It is 42."),
    ]);
    configure(
        &env,
        &format!(
            "[agents.codex]\nprogram = {}\nmodel = \"gpt-5\"\nbase_url = \"{}/v1\"\n\
             env.OPENAI_API_KEY = \"dummy\"\n",
            json!([program("codex")]),
            server.url()
        ),
    );
    // It names the minute, so that the run waits until that has passed.
    assert_waits(&env, &server, "codex");
}
