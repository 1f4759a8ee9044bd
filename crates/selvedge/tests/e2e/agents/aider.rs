//! aider, on OpenAI's chat completions. It edits by what the model writes, without any tools, and runs no
//! commands of the model's. It takes more than a minute to give an overloaded API up, and nothing makes
//! it shorter: that is not played.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{TestedAgent, plays};
use crate::fixtures::program;

const AIDER: TestedAgent = TestedAgent {
    name: "aider",
    settings,
    writes: |_, text| ScriptedTurn::text(edit(text)),
    runs: |command| ScriptedTurn::text(command),
    solves: |_, text, said| {
        let turn = ScriptedTurn::text(format!("{said}\n\n{}", edit(text)));
        vec![turn.usage(2_100, 60)]
    },
    tokens: [2_100, 60],
    calls: 0,
    names_sessions: false,
    refusal: 400,
    silence: "25s",
    counts_retries: false,
};

fn settings(_: &TestEnv, server: &ModelServer) -> String {
    format!(
        "program = {}\nargs = [\"--edit-format\", \"whole\"]\nmodel = \"openai/gpt-5\"\n\
         base_url = \"{}/v1\"\nenv.OPENAI_API_KEY = \"dummy\"\n",
        json!([program("aider")]),
        server.url()
    )
}

fn edit(text: &str) -> String {
    format!("answer\n```\n{text}```\n")
}

plays!(AIDER: success, fail_then_fix, refused, hang);

#[test]
fn killed() {
    super::scenarios::killed_while_it_asks(&AIDER);
}
