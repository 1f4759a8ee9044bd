//! Anthropic's Messages API as Claude Code 2.1 uses it: streamed and complete messages, `count_tokens`,
//! and Claude Code's calls outside its main conversation, which are answered without using a turn of
//! the script.

use serde_json::{Value, json};

use super::reply::{ServerReply, seconds_from_now};
use super::request::{RecordedRequest, ReplySource};
use super::script::{ScriptedToolCall, ScriptedTurn, TurnFault};
use super::sessions::{AssignedTurn, SESSION_HEADER, ScriptedSessions};

const EVENT_STREAM: &str = "text/event-stream";
const SUBAGENT_HEADER: &str = "x-claude-code-agent-id";

pub(crate) fn answer(
    request: &RecordedRequest,
    sessions: &mut ScriptedSessions,
) -> (ReplySource, ServerReply) {
    match request.path.as_str() {
        "/v1/messages" if is_side_call(request) => (
            ReplySource::Side,
            render_turn(request, &ScriptedTurn::text("A scripted session"), "side"),
        ),
        "/v1/messages" => {
            let taken = sessions.take_turn(request);
            (taken.reply_source(), reply(request, &taken))
        }
        "/v1/messages/count_tokens" => (
            ReplySource::Side,
            ServerReply::json(&json!({"input_tokens": 100})),
        ),
        _ => (
            ReplySource::NoSuchPath,
            error(404, "the scripted model server does not know this path"),
        ),
    }
}

/// Whether a request of Claude Code is outside its main conversation: a subagent's, or one to its small
/// model without tools (a title, a summary, whether a command is safe). The main conversation has no
/// tools either if Claude Code was started without any; other clients may never offer tools.
fn is_side_call(request: &RecordedRequest) -> bool {
    let has_tools = request.body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let model = request.body["model"].as_str().unwrap_or_default();
    let asks_small_model = model.contains("haiku");
    request.headers.contains_key(SUBAGENT_HEADER)
        || (request.headers.contains_key(SESSION_HEADER) && !has_tools && asks_small_model)
}

fn reply(request: &RecordedRequest, taken: &AssignedTurn) -> ServerReply {
    let Some(turn) = &taken.turn else {
        return error(400, &taken.exhausted_message());
    };
    let id = format!("{}_{}", taken.session, taken.number);
    let reply = match turn.fault {
        Some(TurnFault::Status { code, retry_after }) => {
            error(code, &format!("scripted {code}")).with_retry_after(retry_after)
        }
        Some(TurnFault::UsageLimit { resets_in }) => {
            let reset = seconds_from_now(resets_in);
            error(429, "This request would exceed your account's rate limit.")
                .with_header("anthropic-ratelimit-unified-status", "rejected")
                .with_header("anthropic-ratelimit-unified-reset", reset.to_string())
                .with_header(
                    "anthropic-ratelimit-unified-representative-claim",
                    "five_hour",
                )
                .with_header("anthropic-ratelimit-unified-5h-status", "rejected")
                .with_header("anthropic-ratelimit-unified-5h-reset", reset.to_string())
        }
        _ => render_turn(request, turn, &id),
    };
    let reply = reply.with_request_id(format!("req_scripted_{id}"));
    reply.with_fault(turn.fault)
}

fn error(code: u16, message: &str) -> ServerReply {
    let kind = match code {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let error = json!({"type": kind, "message": message});
    ServerReply::json(&json!({"type": "error", "error": error})).with_status(code)
}

fn render_turn(request: &RecordedRequest, turn: &ScriptedTurn, id: &str) -> ServerReply {
    let blocks = content(turn, id);
    let mut message = json!({
        "id": format!("msg_scripted_{id}"),
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": blocks,
        "stop_reason": if turn.tools.is_empty() { "end_turn" } else { "tool_use" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": turn.usage.input,
            "output_tokens": turn.usage.output,
            "cache_read_input_tokens": turn.usage.cache_read,
            "cache_creation_input_tokens": turn.usage.cache_write,
        },
    });
    if request.body["stream"] != true {
        return ServerReply::json(&message);
    }
    let stop_reason = message["stop_reason"].take();
    message["content"] = json!([]);
    message["usage"]["output_tokens"] = json!(1);
    let mut events = vec![event(&json!({"type": "message_start", "message": message}))];
    events.push(event(&json!({"type": "ping"})));
    for (index, block) in blocks.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    events.push(event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": turn.usage.output},
    })));
    events.push(event(&json!({"type": "message_stop"})));
    ServerReply::stream(EVENT_STREAM, events)
}

fn content(turn: &ScriptedTurn, id: &str) -> Vec<Value> {
    let text = Some(&turn.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let tool_use = |(index, call): (usize, &ScriptedToolCall)| {
        let id = format!("toolu_scripted_{id}_{index}");
        json!({"type": "tool_use", "id": id, "name": call.name, "input": call.input})
    };
    text.into_iter()
        .chain(turn.tools.iter().enumerate().map(tool_use))
        .collect()
}

/// The events of a content block: it starts empty, grows by two deltas, and stops.
fn block_events(index: usize, block: &Value) -> Vec<String> {
    let mut opening = block.clone();
    let (whole, deltas): (String, fn(&str) -> Value) = if block["type"] == "text" {
        opening["text"] = json!("");
        let text = block["text"].as_str().unwrap_or_default().to_owned();
        (text, |piece| json!({"type": "text_delta", "text": piece}))
    } else {
        opening["input"] = json!({});
        let input = block["input"].to_string();
        (
            input,
            |piece| json!({"type": "input_json_delta", "partial_json": piece}),
        )
    };
    let (first, second) = whole.split_at(whole.floor_char_boundary(whole.len() / 2));
    let start = json!({"type": "content_block_start", "index": index, "content_block": opening});
    let delta =
        |piece| json!({"type": "content_block_delta", "index": index, "delta": deltas(piece)});
    let stop = json!({"type": "content_block_stop", "index": index});
    vec![
        event(&start),
        event(&delta(first)),
        event(&delta(second)),
        event(&stop),
    ]
}

fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
