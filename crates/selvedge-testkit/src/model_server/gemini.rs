//! Google's Gemini API: `models/NAME:generateContent` and its streamed form. Calls of Gemini CLI
//! without tools are outside its main conversation; other clients may use none in theirs.

use serde_json::{Value, json};

use super::reply::ServerReply;
use super::request::{RecordedRequest, ReplySource};
use super::script::{ScriptedToolCall, ScriptedTurn, TurnFault};
use super::sessions::{AssignedTurn, ScriptedSessions};

const EVENT_STREAM: &str = "text/event-stream";

/// Whether the path belongs to this API.
pub(crate) fn is_path(path: &str) -> bool {
    path.starts_with("/v1beta/models/")
}

pub(crate) fn answer(
    request: &RecordedRequest,
    sessions: &mut ScriptedSessions,
) -> (ReplySource, ServerReply) {
    match request.path.rsplit_once(':').map(|(_, method)| method) {
        Some("generateContent" | "streamGenerateContent") if is_side_call(request) => {
            let turn = ScriptedTurn::text("{}");
            (ReplySource::Side, render_turn(request, &turn))
        }
        Some("generateContent" | "streamGenerateContent") => {
            let taken = sessions.take_turn(request);
            (taken.reply_source(), reply(request, &taken))
        }
        Some("countTokens") => (
            ReplySource::Side,
            ServerReply::json(&json!({"totalTokens": 100})),
        ),
        _ => (
            ReplySource::NoSuchPath,
            error(404, "the scripted model server does not know this path"),
        ),
    }
}

fn is_side_call(request: &RecordedRequest) -> bool {
    let client = request.headers.get("user-agent");
    client.is_some_and(|name| name.starts_with("GeminiCLI")) && !has_tools(request)
}

fn has_tools(request: &RecordedRequest) -> bool {
    request.body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
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

fn error(code: u16, message: &str) -> ServerReply {
    let status = match code {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let error = json!({"code": code, "message": message, "status": status});
    ServerReply::json(&json!({"error": error})).with_status(code)
}

fn render_turn(request: &RecordedRequest, turn: &ScriptedTurn) -> ServerReply {
    let text = Some(&turn.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"text": text}));
    let call =
        |call: &ScriptedToolCall| json!({"functionCall": {"name": call.name, "args": call.input}});
    let parts = text.into_iter().chain(turn.tools.iter().map(call));
    if !request.path.ends_with(":streamGenerateContent") {
        let parts: Vec<_> = parts.collect();
        return ServerReply::json(&with_end(record(&parts), turn));
    }
    let mut records: Vec<_> = parts.map(|part| record(&[part])).collect();
    records.push(with_end(record(&[json!({"text": ""})]), turn));
    let events = records
        .iter()
        .map(|record| format!("data: {record}\r\n\r\n"));
    ServerReply::stream(EVENT_STREAM, events.collect())
}

fn record(parts: &[Value]) -> Value {
    let content = json!({"role": "model", "parts": parts});
    json!({"candidates": [{"index": 0, "content": content}], "modelVersion": "scripted"})
}

fn with_end(mut record: Value, turn: &ScriptedTurn) -> Value {
    let usage = turn.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    record["candidates"][0]["finishReason"] = json!("STOP");
    record["usageMetadata"] = json!({
        "promptTokenCount": input,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": input + usage.output,
        "cachedContentTokenCount": usage.cache_read,
    });
    record
}
