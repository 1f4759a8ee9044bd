//! mini-SWE-agent on OpenAI's chat completions. It also retries requests that were refused, except for some
//! error codes.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const MINI: TestedAgent = TestedAgent {
    name: "mini",
    settings,
    writes: |_, text| write(text),
    runs,
    solves: |_, text, message| {
        let done = json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"});
        vec![
            write(text).usage(1_000, 50),
            ScriptedTurn::text(message)
                .and_tool("bash", done)
                .usage(1_100, 10),
        ]
    },
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: false,
    refusal: 401,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::AfterCommand,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    format!(
        "program = {}\nmodel = \"openai/gpt-5\"\nbase_url = \"{}/v1\"\n\
         env.OPENAI_API_KEY = \"dummy\"\n",
        json!([program("mini")]),
        server.url()
    )
}

fn write(text: &str) -> ScriptedTurn {
    runs(&format!("printf '%s' '{text}' > answer"))
}

fn runs(command: &str) -> ScriptedTurn {
    ScriptedTurn::tool("bash", json!({"command": command}))
}

plays!(MINI: success, fail_then_fix, turn_limit, refused, overloaded, killed, hang);
