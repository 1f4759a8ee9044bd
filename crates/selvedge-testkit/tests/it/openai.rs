//! OpenAI's two APIs: Responses as Codex uses it, and chat completions.

use selvedge_testkit::{ModelScript, ModelServer, ReplySource, ScriptedTurn, TurnUsage};
use serde_json::{Value, json};

use crate::http;

const USAGE: TurnUsage = TurnUsage {
    input: 700,
    output: 50,
    cache_read: 300,
    cache_write: 0,
};

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn respond(server: &ModelServer, input: &[Value]) -> http::Answer {
    let body = json!({"model": "gpt-5", "stream": true, "input": input});
    http::post(&server.url(), "/v1/responses", &[], &body)
}

fn events(answer: &http::Answer) -> Vec<Value> {
    let lines = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let lines = lines.filter(|line| *line != "[DONE]");
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn response_is_streamed_in_items_with_usage() {
    let turn = ScriptedTurn::text("I run it.")
        .and_tool("exec_command", json!({"cmd": "ls"}))
        .and_tool("apply_patch", json!("*** Begin Patch"));
    let server = ModelServer::start([turn.with_usage(USAGE)]);
    let answer = respond(&server, &[user("<environment_context>…"), user("Do it.")]);
    let events = events(&answer);
    let text: String = events
        .iter()
        .filter_map(|it| it["delta"].as_str())
        .collect();
    assert_eq!(text, "I run it.");
    let items = events
        .iter()
        .filter(|it| it["type"] == "response.output_item.done");
    let items: Vec<_> = items.map(|it| &it["item"]).collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(items[2]["type"], "custom_tool_call");
    assert_eq!(items[2]["input"], "*** Begin Patch");
    let last = &events.last().unwrap()["response"];
    assert_eq!(last["output"].as_array().unwrap().len(), 3);
    assert_eq!(
        last["usage"]["input_tokens"], 1_000,
        "cached ones are among them"
    );
    assert_eq!(last["usage"]["input_tokens_details"]["cached_tokens"], 300);
    assert_eq!(server.prompts(), ["Do it."]);
}

#[test]
fn item_of_the_model_continues_its_session() {
    let script = ModelScript::new()
        .session([
            ScriptedTurn::status(503),
            ScriptedTurn::text("one"),
            ScriptedTurn::text("two"),
        ])
        .session([ScriptedTurn::text("three")]);
    let server = ModelServer::start(script);
    let refused = respond(&server, &[user("The task.")]);
    assert_eq!(refused.json()["error"]["message"], "scripted 503");
    respond(&server, &[user("The task.")]);
    let call = json!({"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"});
    respond(&server, &[user("The task."), call]);
    respond(&server, &[user("The task.")]);
    let answers: Vec<_> = server.requests().iter().map(|it| it.answer).collect();
    let turn = |session, turn| ReplySource::Turn { session, turn };
    assert_eq!(answers, [turn(1, 1), turn(1, 2), turn(1, 3), turn(2, 1)]);
}

#[test]
fn completion_is_streamed_or_complete() {
    let turn = ScriptedTurn::text("I run it.").and_tool("bash", json!({"command": "ls"}));
    let turn = turn.with_usage(USAGE);
    let server = ModelServer::start([turn.clone(), turn]);
    let ask = |stream: bool, messages: Value| {
        let body = json!({"model": "gpt-5", "stream": stream, "messages": messages});
        http::post(&server.url(), "/v1/chat/completions", &[], &body)
    };
    let prompt = json!({"role": "user", "content": "Do it."});
    let streamed = ask(true, json!([prompt]));
    assert!(streamed.body.ends_with("data: [DONE]\n\n"));
    let events = events(&streamed);
    let delta = |path: &str| -> String {
        let pieces = events.iter().filter_map(|it| it.pointer(path)?.as_str());
        pieces.collect()
    };
    assert_eq!(delta("/choices/0/delta/content"), "I run it.");
    let arguments = delta("/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(arguments, r#"{"command":"ls"}"#);
    assert_eq!(delta("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 1_000);

    let complete = ask(
        false,
        json!([prompt, {"role": "assistant", "content": "x"}]),
    )
    .json();
    let message = &complete["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["name"], "bash");
    assert_eq!(complete["usage"]["completion_tokens"], 50);
}

#[test]
fn title_request_takes_no_turn() {
    let server = ModelServer::start([ScriptedTurn::text("Done.")]);
    let messages = json!([
        {"role": "system", "content": "You are a title generator."},
        {"role": "user", "content": "Do it."},
    ]);
    let body = json!({"model": "gpt-5", "stream": true, "messages": messages});
    http::post(&server.url(), "/v1/chat/completions", &[], &body);
    assert_eq!(server.requests()[0].answer, ReplySource::Side);
    assert_eq!(server.turns_left(), 1);
}
