//! Google's Gemini API, used as Gemini CLI uses it.

use selvedge_testkit::{ModelServer, ReplySource, ScriptedTurn, TurnUsage};
use serde_json::{Value, json};

use crate::http;

const STREAMED: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

fn body(contents: &Value) -> Value {
    json!({"contents": contents, "tools": [{"functionDeclarations": []}]})
}

#[test]
fn turn_is_streamed_in_parts_with_usage() {
    let usage = TurnUsage {
        input: 700,
        output: 50,
        cache_read: 300,
        cache_write: 0,
    };
    let turn = ScriptedTurn::text("I write.").and_tool("write_file", json!({"file_path": "/a"}));
    let server = ModelServer::start([turn.with_usage(usage), ScriptedTurn::text("Done.")]);
    let opening = json!([
        {"role": "user", "parts": [{"text": "<session_context>\nA machine."}]},
        {"role": "user", "parts": [{"text": "Do it."}]},
    ]);
    let answer = http::post(&server.url(), STREAMED, &[], &body(&opening));
    let records: Vec<Value> = answer.records().into_iter().map(Result::unwrap).collect();
    let part = |index: usize| &records[index]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part(0)["text"], "I write.");
    assert_eq!(part(1)["functionCall"]["args"]["file_path"], "/a");
    assert_eq!(records[2]["candidates"][0]["finishReason"], "STOP");
    assert_eq!(records[2]["usageMetadata"]["promptTokenCount"], 1_000);
    assert_eq!(server.prompts(), ["Do it."]);

    let mut more = opening.as_array().unwrap().clone();
    more.push(json!({"role": "model", "parts": [part(1)]}));
    http::post(&server.url(), STREAMED, &[], &body(&json!(more)));
    assert_eq!(server.turns_left(), 0, "the same session goes on");
}

#[test]
fn side_calls_take_no_turn() {
    let server = ModelServer::start([ScriptedTurn::status(429)]);
    let contents = json!([{"role": "user", "parts": [{"text": "Is it hard?"}]}]);
    let path = "/v1beta/models/gemini-2.5-flash-lite:generateContent";
    let client = [("user-agent", "GeminiCLI/0.61.0")];
    let aside = http::post(&server.url(), path, &client, &json!({"contents": contents}));
    assert_eq!(aside.json()["candidates"][0]["content"]["role"], "model");
    let refused = http::post(&server.url(), STREAMED, &[], &body(&contents));
    assert_eq!(refused.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    let answers: Vec<_> = server.requests().iter().map(|it| it.answer).collect();
    assert_eq!(
        answers,
        [
            ReplySource::Side,
            ReplySource::Turn {
                session: 1,
                turn: 1
            }
        ]
    );
}
