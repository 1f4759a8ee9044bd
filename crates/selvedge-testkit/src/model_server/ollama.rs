//! Ollama's API: `/api/chat` as NDJSON or whole, with tools and the closing record's counts, and
//! the few paths by which a client asks what the server is and has.

use serde_json::{Value, json};

use super::reply::Reply;
use super::request::{Answer, Request};
use super::script::{Fault, Script, ToolCall, Turn};
use super::sessions::{Sessions, Taken};

const NDJSON: &str = "application/x-ndjson";
/// A time that no test can mistake for a real one.
const CREATED_AT: &str = "2000-01-01T00:00:00Z";

pub(crate) fn answer(request: &Request, sessions: &mut Sessions) -> (Answer, Reply) {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/api/chat" | "/api/show") if !sessions.script.has_model(model(request)) => {
            let message = format!("model '{}' not found", model(request));
            (Answer::NoSuchModel, error(404, &message))
        }
        ("POST", "/api/chat") => {
            let taken = sessions.take_turn(request);
            (taken.answer(), reply(request, &taken))
        }
        ("POST", "/api/show") => (Answer::Side, show()),
        ("GET", "/api/tags") => (Answer::Side, tags(&sessions.script)),
        ("GET", "/api/version") => (Answer::Side, Reply::json(&json!({"version": "0.12.6"}))),
        _ => (Answer::NoSuchPath, Reply::no_such_path()),
    }
}

fn model(request: &Request) -> &str {
    request.body["model"].as_str().unwrap_or_default()
}

fn error(code: u16, message: &str) -> Reply {
    Reply::json(&json!({"error": message})).status(code)
}

fn show() -> Reply {
    Reply::json(&json!({
        "details": {"format": "gguf", "family": "scripted", "parameter_size": "4B"},
        "model_info": {"general.architecture": "scripted", "scripted.context_length": 32768},
        "capabilities": ["completion", "tools"],
    }))
}

fn tags(script: &Script) -> Reply {
    let model = |name: &String| json!({"name": name, "model": name, "size": 0});
    let models: Vec<_> = script.models.iter().map(model).collect();
    Reply::json(&json!({"models": models}))
}

fn reply(request: &Request, taken: &Taken) -> Reply {
    let Some(turn) = &taken.turn else {
        return error(400, &taken.nothing_left());
    };
    let reply = match turn.fault {
        Some(Fault::Status { code, retry_after }) => {
            error(code, &format!("scripted {code}")).retry_after(retry_after)
        }
        _ => say(request, turn),
    };
    reply.failing(turn.fault)
}

fn say(request: &Request, turn: &Turn) -> Reply {
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
        return Reply::json(&with_counts(record(message, true), counts));
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
    Reply::stream(
        NDJSON,
        records.iter().map(|record| format!("{record}\n")).collect(),
    )
}

fn tool_call((index, call): (usize, &ToolCall)) -> Value {
    json!({"function": {"index": index, "name": call.name, "arguments": call.input}})
}

fn with_counts(mut record: Value, mut counts: Value) -> Value {
    if let (Some(record), Some(counts)) = (record.as_object_mut(), counts.as_object_mut()) {
        record.append(counts);
    }
    record
}
