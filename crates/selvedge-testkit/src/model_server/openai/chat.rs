//! Chat completions: a message, streamed as chunks that end with its usage and `[DONE]`.

use serde_json::{Value, json};

use super::{EVENT_STREAM, event, split_in_half};
use crate::model_server::reply::ServerReply;
use crate::model_server::request::RecordedRequest;
use crate::model_server::script::{ScriptedToolCall, ScriptedTurn, TurnUsage};

pub(super) fn render_turn(request: &RecordedRequest, turn: &ScriptedTurn, id: &str) -> ServerReply {
    let record = |object: &str, choices: Value| {
        json!({
            "id": format!("chatcmpl_scripted_{id}"),
            "object": object,
            "created": 0,
            "model": request.body["model"],
            "choices": choices,
        })
    };
    let calls: Vec<_> = turn
        .tools
        .iter()
        .enumerate()
        .map(|it| call(it, id))
        .collect();
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    if request.body["stream"] != true {
        let mut message = json!({"role": "assistant", "content": turn.text});
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let choice = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        let mut whole = record("chat.completion", choice);
        whole["usage"] = usage(turn.usage);
        return ServerReply::json(&whole);
    }
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        record("chat.completion.chunk", choice)
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let pieces = split_in_half(&turn.text)
        .into_iter()
        .filter(|piece| !piece.is_empty());
    chunks.extend(pieces.map(|piece| chunk(json!({"content": piece}), None)));
    let deltas = calls.iter().flat_map(call_deltas);
    chunks.extend(deltas.map(|delta| chunk(json!({"tool_calls": [delta]}), None)));
    chunks.push(chunk(json!({}), Some(reason)));
    let mut counts = record("chat.completion.chunk", json!([]));
    counts["usage"] = usage(turn.usage);
    chunks.push(counts);
    let mut events: Vec<_> = chunks.iter().map(event).collect();
    events.push("data: [DONE]\n\n".to_owned());
    ServerReply::stream(EVENT_STREAM, events)
}

fn usage(usage: TurnUsage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

fn call((index, call): (usize, &ScriptedToolCall), id: &str) -> Value {
    json!({
        "index": index,
        "id": format!("call_scripted_{id}_{index}"),
        "type": "function",
        "function": {"name": call.name, "arguments": call.input.to_string()},
    })
}

/// The deltas of a tool call: the first one has its name, two more have its arguments.
fn call_deltas(call: &Value) -> Vec<Value> {
    let mut opening = call.clone();
    opening["function"]["arguments"] = json!("");
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    let grow = |piece| json!({"index": call["index"], "function": {"arguments": piece}});
    [opening]
        .into_iter()
        .chain(split_in_half(arguments).map(grow))
        .collect()
}
