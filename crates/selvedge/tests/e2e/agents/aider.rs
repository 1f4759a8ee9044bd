//! aider on OpenAI's chat completions. It applies edits from the model's text, without tools, and does not run
//! commands of the model. It retries an overloaded API for more than a minute, which cannot be configured, so
//! that scenario is omitted.

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures::program;

const AIDER: TestedAgent = TestedAgent {
    name: "aider",
    settings,
    writes: |_, text| ScriptedTurn::text(edit(text)),
    runs: |command| ScriptedTurn::text(command),
    solves: |_, text, message| {
        let turn = ScriptedTurn::text(format!("{message}\n\n{}", edit(text)));
        vec![turn.usage(2_100, 60)]
    },
    tokens: [2_100, 60],
    calls: 0,
    names_sessions: false,
    refusal: 400,
    idle_timeout: "25s",
    counts_retries: false,
    judgement: Judgement::Text,
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

plays!(AIDER: success, fail_then_fix, refused, hang, judge);

#[test]
fn killed() {
    super::scenarios::killed_during_model_request(&AIDER);
}
