//! The Responses API: a response is a list of items. A scripted tool call whose input is a string
//! becomes a custom tool call with free text.

use serde_json::{Value, json};

use super::{EVENT_STREAM, event, split_in_half};
use crate::model_server::reply::ServerReply;
use crate::model_server::request::RecordedRequest;
use crate::model_server::script::{ScriptedToolCall, ScriptedTurn, TurnUsage};

pub(super) fn render_turn(request: &RecordedRequest, turn: &ScriptedTurn, id: &str) -> ServerReply {
    let items = items(turn, id);
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_scripted_{id}"),
            "object": "response",
            "created_at": 0,
            "status": status,
            "model": request.body["model"],
            "output": output,
            "usage": usage(turn.usage),
        })
    };
    if request.body["stream"] != true {
        return ServerReply::json(&response("completed", &items));
    }
    let opening = response("in_progress", &[]);
    let mut events = vec![json!({"type": "response.created", "response": opening})];
    for (index, item) in items.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    let whole = response("completed", &items);
    events.push(json!({"type": "response.completed", "response": whole}));
    ServerReply::stream(EVENT_STREAM, events.iter().map(event).collect())
}

fn usage(usage: TurnUsage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

fn items(turn: &ScriptedTurn, id: &str) -> Vec<Value> {
    let text = Some(&turn.text).filter(|text| !text.is_empty());
    let message = text.map(|text| {
        json!({
            "type": "message",
            "id": format!("msg_scripted_{id}"),
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })
    });
    let call = |(index, call): (usize, &ScriptedToolCall)| {
        let call_id = format!("call_scripted_{id}_{index}");
        let item_id = format!("fc_scripted_{id}_{index}");
        match &call.input {
            Value::String(input) => json!({
                "type": "custom_tool_call", "id": item_id, "call_id": call_id,
                "name": call.name, "input": input, "status": "completed",
            }),
            input => json!({
                "type": "function_call", "id": item_id, "call_id": call_id,
                "name": call.name, "arguments": input.to_string(), "status": "completed",
            }),
        }
    };
    message
        .into_iter()
        .chain(turn.tools.iter().enumerate().map(call))
        .collect()
}

/// The events of an item: it is added empty, a text grows by two deltas, and it is done with its full
/// content.
fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut opening = item.clone();
    let text = item["content"][0]["text"].as_str();
    if text.is_some() {
        opening["content"] = json!([]);
    }
    let added =
        json!({"type": "response.output_item.added", "output_index": index, "item": opening});
    let deltas = text.map(split_in_half).into_iter().flatten().map(|piece| {
        json!({
            "type": "response.output_text.delta", "output_index": index, "content_index": 0,
            "item_id": item["id"], "delta": piece,
        })
    });
    let done = json!({"type": "response.output_item.done", "output_index": index, "item": item});
    [added].into_iter().chain(deltas).chain([done]).collect()
}
