//! Ollama's API, whose conversations have no session ids.

use selvedge_testkit::{ModelScript, ModelServer, RecordedRequest, ReplySource, ScriptedTurn};
use serde_json::{Value, json};

use crate::http;

fn chat(server: &ModelServer, messages: &Value) -> http::Answer {
    let body = json!({"model": "qwen3:4b", "messages": messages});
    http::post(&server.url(), "/api/chat", &[], &body)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[test]
fn turn_is_streamed_as_records_with_counts() {
    let turn = ScriptedTurn::text("I run it.").and_tool("command", json!({"command": "ls"}));
    let server = ModelServer::start([turn.usage(1_000, 50)]);
    let answer = chat(&server, &json!([user("Do it.")]));
    insta::assert_snapshot!(answer.body, @r#"
    {"model":"qwen3:4b","created_at":"2000-01-01T00:00:00Z","message":{"role":"assistant","content":"I ru"},"done":false}
    {"model":"qwen3:4b","created_at":"2000-01-01T00:00:00Z","message":{"role":"assistant","content":"n it."},"done":false}
    {"model":"qwen3:4b","created_at":"2000-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"command","arguments":{"command":"ls"}}}]},"done":false}
    {"model":"qwen3:4b","created_at":"2000-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1500000000,"load_duration":100000000,"prompt_eval_count":1000,"prompt_eval_duration":400000000,"eval_count":50,"eval_duration":1000000000}
    "#);
}

#[test]
fn turn_is_one_record_without_streaming() {
    let server = ModelServer::start([ScriptedTurn::tool("command", json!({"command": "ls"}))]);
    let body = json!({"model": "m", "stream": false, "messages": [user("Do it.")]});
    let record = http::post(&server.url(), "/api/chat", &[], &body).json();
    assert_eq!(record["done"], true);
    assert_eq!(
        record["message"]["tool_calls"][0]["function"]["name"],
        "command"
    );
}

#[test]
fn follow_up_stays_in_its_session() {
    let server = ModelServer::start(
        ModelScript::new()
            .session([ScriptedTurn::text("one"), ScriptedTurn::text("two")])
            .session([ScriptedTurn::text("three")]),
    );
    chat(&server, &json!([user("The task.")]));
    chat(
        &server,
        &json!([
            user("The task."),
            assistant("one"),
            user("VERIFICATION RETRY 1/2")
        ]),
    );
    chat(&server, &json!([user("Another task.")]));
    let numbers: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.answer)
        .collect();
    let turn = |session, turn| ReplySource::Turn { session, turn };
    assert_eq!(numbers, [turn(1, 1), turn(1, 2), turn(2, 1)]);
    assert_eq!(
        server.requests()[1].user_texts(),
        ["The task.", "VERIFICATION RETRY 1/2"]
    );
}

#[test]
fn repeated_request_is_a_new_session_only_after_an_answer() {
    let server = ModelServer::start(
        ModelScript::new()
            .session([
                ScriptedTurn::status(500),
                ScriptedTurn::drop_after(10),
                ScriptedTurn::text("one"),
            ])
            .session([ScriptedTurn::text("two")]),
    );
    let answers: Vec<_> = (0..4)
        .map(|_| chat(&server, &json!([user("The task.")])))
        .collect();
    assert_eq!(answers[0].status, 500);
    assert_eq!(answers[0].json(), json!({"error": "scripted 500"}));
    assert!(!answers[1].is_whole);
    assert_eq!(answers[1].body.len(), 10);
    let sessions: Vec<_> = server
        .requests()
        .iter()
        .map(RecordedRequest::session)
        .collect();
    assert_eq!(sessions, [Some(1), Some(1), Some(1), Some(2)]);
}

#[test]
fn missing_model_takes_no_turn() {
    let server = ModelServer::start(
        ModelScript::from([ScriptedTurn::text("Done.")]).models(["llama3.2:3b"]),
    );
    let answer = chat(&server, &json!([user("Do it.")]));
    assert_eq!(answer.status, 404);
    assert_eq!(
        answer.json(),
        json!({"error": "model 'qwen3:4b' not found"})
    );
    assert_eq!(server.turns_left(), 1);
    let tags = http::get(&server.url(), "/api/tags").json();
    assert_eq!(tags["models"][0]["name"], "llama3.2:3b");
    assert!(http::get(&server.url(), "/api/version").json()["version"].is_string());
}
