//! Ollama's API: `/api/chat`, streamed as NDJSON or complete, with tools and token counts, and the
//! paths by which clients query the server's version and models.

use serde_json::{Value, json};

use super::reply::ServerReply;
use super::request::{RecordedRequest, ReplySource};
use super::script::{ModelScript, ScriptedToolCall, ScriptedTurn, TurnFault};
use super::sessions::{AssignedTurn, ScriptedSessions};

const NDJSON: &str = "application/x-ndjson";
/// A fixed time that cannot be mistaken for a real one.
const CREATED_AT: &str = "2000-01-01T00:00:00Z";

pub(crate) fn answer(
    request: &RecordedRequest,
    sessions: &mut ScriptedSessions,
) -> (ReplySource, ServerReply) {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/api/chat" | "/api/show") if !sessions.script.has_model(model(request)) => {
            let message = format!("model '{}' not found", model(request));
            (ReplySource::NoSuchModel, error(404, &message))
        }
        ("POST", "/api/chat") => {
            let taken = sessions.take_turn(request);
            (taken.reply_source(), reply(request, &taken))
        }
        ("POST", "/api/show") => (ReplySource::Side, show()),
        ("GET", "/api/tags") => (ReplySource::Side, tags(&sessions.script)),
        ("GET", "/api/version") => (
            ReplySource::Side,
            ServerReply::json(&json!({"version": "0.12.6"})),
        ),
        _ => (ReplySource::NoSuchPath, ServerReply::path_not_found()),
    }
}

fn model(request: &RecordedRequest) -> &str {
    request.body["model"].as_str().unwrap_or_default()
}

fn error(code: u16, message: &str) -> ServerReply {
    ServerReply::json(&json!({"error": message})).with_status(code)
}

fn show() -> ServerReply {
    ServerReply::json(&json!({
        "details": {"format": "gguf", "family": "scripted", "parameter_size": "4B"},
        "model_info": {"general.architecture": "scripted", "scripted.context_length": 32768},
        "capabilities": ["completion", "tools"],
    }))
}

fn tags(script: &ModelScript) -> ServerReply {
    let model = |name: &String| json!({"name": name, "model": name, "size": 0});
    let models: Vec<_> = script.models.iter().map(model).collect();
    ServerReply::json(&json!({"models": models}))
}

fn reply(request: &RecordedRequest, taken: &AssignedTurn) -> ServerReply {
    let Some(turn) = &taken.turn else {
        return error(400, &taken.exhausted_message());
    };
    let reply = match turn.fault {
        Some(TurnFault::Status { code, retry_after }) => {
            error(code, &format!("scripted {code}")).with_retry_after(retry_after)
        }
        _ => render_turn(request, turn),
    };
    reply.with_fault(turn.fault)
}

fn render_turn(request: &RecordedRequest, turn: &ScriptedTurn) -> ServerReply {
    let record = |message: Value, done: bool| {
        let model = model(request);
        json!({"model": model, "created_at": CREATED_AT, "message": message, "done": done})
    };
    let tool_calls: Vec<_> = turn.tools.iter().enumerate().map(tool_call).collect();
    let counts = json!({
        "done_reason": "stop",
        "total_duration": 1_500_000_000_u64,
        "load_duration": 100_000_000,
        "prompt_eval_count": turn.usage.input,
        "prompt_eval_duration": 400_000_000,
        "eval_count": turn.usage.output,
        "eval_duration": 1_000_000_000,
    });
    if request.body["stream"] == false {
        let mut message = json!({"role": "assistant", "content": turn.text});
        if !tool_calls.is_empty() {
            message["tool_calls"] = json!(tool_calls);
        }
        return ServerReply::json(&with_counts(record(message, true), counts));
    }
    let says = |text: &str| json!({"role": "assistant", "content": text});
    let (first, second) = turn
        .text
        .split_at(turn.text.floor_char_boundary(turn.text.len() / 2));
    let pieces = [first, second]
        .into_iter()
        .filter(|piece| !piece.is_empty());
    let mut records: Vec<_> = pieces.map(|piece| record(says(piece), false)).collect();
    for call in tool_calls {
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
        records.push(record(message, false));
    }
    records.push(with_counts(record(says(""), true), counts));
    ServerReply::stream(
        NDJSON,
        records.iter().map(|record| format!("{record}\n")).collect(),
    )
}

fn tool_call((index, call): (usize, &ScriptedToolCall)) -> Value {
    json!({"function": {"index": index, "name": call.name, "arguments": call.input}})
}

fn with_counts(mut record: Value, mut counts: Value) -> Value {
    if let (Some(record), Some(counts)) = (record.as_object_mut(), counts.as_object_mut()) {
        record.append(counts);
    }
    record
}
