//! Anthropic's Messages API, used as Claude Code uses it.

use selvedge_testkit::{ModelScript, ModelServer, ReplySource, ScriptedTurn, TurnUsage};
use serde_json::{Value, json};

use crate::http;

const PATH: &str = "/v1/messages?beta=true";

fn body(prompt: &str) -> Value {
    json!({
        "model": "claude-opus-4-8",
        "stream": true,
        "tools": [{"name": "Write"}],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nToday is a day.\n</system-reminder>\n"},
            {"type": "text", "text": prompt},
        ]}],
    })
}

fn ask(server: &ModelServer, session: &str, prompt: &str) -> http::Answer {
    ask_with(server, session, &body(prompt))
}

fn ask_with(server: &ModelServer, session: &str, body: &Value) -> http::Answer {
    http::post(
        &server.url(),
        PATH,
        &[("x-claude-code-session-id", session)],
        body,
    )
}

fn text_of(answer: &http::Answer) -> String {
    let events = answer.records().into_iter().map(Result::unwrap);
    let deltas = events.filter_map(|event| event["delta"]["text"].as_str().map(str::to_owned));
    deltas.collect()
}

#[test]
fn turn_is_streamed_as_message_events() {
    let usage = TurnUsage {
        input: 1_000,
        output: 50,
        cache_read: 300,
        cache_write: 200,
    };
    let turn = ScriptedTurn::text("I write.").and_tool("Write", json!({"file_path": "/a"}));
    let server = ModelServer::start([turn.with_usage(usage)]);
    let answer = ask(&server, "s", "Do it.");
    assert!(
        answer.head.contains("content-type: text/event-stream"),
        "{}",
        answer.head
    );
    insta::assert_snapshot!(answer.body, @r#"
    event: message_start
    data: {"type":"message_start","message":{"id":"msg_scripted_1_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1000,"output_tokens":1,"cache_read_input_tokens":300,"cache_creation_input_tokens":200}}}

    event: ping
    data: {"type":"ping"}

    event: content_block_start
    data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I wr"}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ite."}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: content_block_start
    data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_scripted_1_1_0","name":"Write","input":{}}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file_pa"}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"th\":\"/a\"}"}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":1}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":50}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
}

#[test]
fn turn_is_complete_without_streaming() {
    let server = ModelServer::start([ScriptedTurn::text("Done.").usage(7, 3)]);
    let mut body = body("Do it.");
    body["stream"] = json!(false);
    let message = ask_with(&server, "s", &body).json();
    assert_eq!(
        message["content"],
        json!([{"type": "text", "text": "Done."}])
    );
    assert_eq!(message["stop_reason"], "end_turn");
    assert_eq!(message["usage"]["output_tokens"], 3);
}

#[test]
fn sessions_play_their_own_turns_and_record_prompts() {
    let server = ModelServer::start(
        ModelScript::new()
            .session([ScriptedTurn::text("one"), ScriptedTurn::text("two")])
            .session([ScriptedTurn::text("three")]),
    );
    let retry = "The task.\nVERIFICATION RETRY 1/2";
    assert_eq!(text_of(&ask(&server, "a", "The task.")), "one");
    assert_eq!(text_of(&ask(&server, "b", retry)), "three");
    assert_eq!(text_of(&ask(&server, "a", "The task.")), "two");
    assert_eq!(server.prompts(), ["The task.", retry]);
    assert_eq!(server.requests_of(1).len(), 2);
    assert_eq!(server.turns_left(), 0);
}

#[test]
fn side_calls_take_no_turn() {
    let server = ModelServer::start([ScriptedTurn::text("Done.")]);
    let mut title = body("Make a title.");
    title["tools"] = json!([]);
    title["model"] = json!("claude-haiku-4-5");
    assert_eq!(ask_with(&server, "s", &title).status, 200);
    let subagent = [
        ("x-claude-code-session-id", "s"),
        ("x-claude-code-agent-id", "a1"),
    ];
    assert_eq!(
        http::post(&server.url(), PATH, &subagent, &body("Look.")).status,
        200
    );
    let tokens = http::post(&server.url(), "/v1/messages/count_tokens", &[], &title).json();
    assert!(tokens["input_tokens"].is_u64());
    assert_eq!(http::get(&server.url(), "/").status, 200);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.answer == ReplySource::Side)
    );
    assert_eq!(server.turns_left(), 1);
}

#[test]
fn refusal_has_status_and_error_of_the_api() {
    let server = ModelServer::start([
        ScriptedTurn::rate_limited(7),
        ScriptedTurn::status(529),
        ScriptedTurn::text("recovered"),
    ]);
    let limited = ask(&server, "s", "Do it.");
    assert_eq!(limited.status, 429);
    assert!(limited.head.contains("retry-after: 7"), "{}", limited.head);
    let overloaded = ask(&server, "s", "Do it.");
    assert_eq!(
        (overloaded.status, &overloaded.json()["error"]["type"]),
        (529, &json!("overloaded_error"))
    );
    assert_eq!(text_of(&ask(&server, "s", "Do it.")), "recovered");
}

#[test]
fn dropped_connection_leaves_the_body_incomplete() {
    let server = ModelServer::start([ScriptedTurn::drop_after(500)]);
    let answer = ask(&server, "s", "Do it.");
    assert_eq!(
        (answer.status, answer.body.len(), answer.is_whole),
        (200, 500, false)
    );
}

#[test]
fn broken_json_is_sent_in_a_complete_response() {
    let server = ModelServer::start([ScriptedTurn::broken_json()]);
    let answer = ask(&server, "s", "Do it.");
    assert!(answer.is_whole);
    assert_eq!(
        answer
            .records()
            .iter()
            .filter(|record| record.is_err())
            .count(),
        1
    );
}

#[test]
fn hang_and_stall_last_until_the_server_ends() {
    let server = ModelServer::start([ScriptedTurn::hang(), ScriptedTurn::stall_after(300)]);
    let headers = [("x-claude-code-session-id", "s")];
    let mut pending = Vec::new();
    for turn in [1, 2] {
        pending.push(http::start_post(
            &server.url(),
            PATH,
            &headers,
            &body("Do it."),
        ));
        server.wait_for_turn(1, turn);
    }
    drop(server);
    let answers: Vec<_> = pending.into_iter().map(http::Pending::read).collect();
    assert_eq!(answers[0].status, 0, "not even a status line");
    assert!(!answers[1].is_whole);
}

#[test]
fn exhausted_script_refuses_further_requests() {
    let server = ModelServer::start([ScriptedTurn::text("Done.")]);
    ask(&server, "s", "Do it.");
    let answer = ask(&server, "s", "More?");
    assert_eq!(answer.status, 400);
    assert!(
        answer.body.contains("no turn 2 for session 1"),
        "{}",
        answer.body
    );
}
