//! OpenAI's APIs: Responses, as Codex uses it, and chat completions, which most other clients use. Both
//! are streamed or complete, and include cached tokens in the input tokens.

mod chat;
mod responses;

use serde_json::{Value, json};

use super::reply::{ServerReply, seconds_from_now};
use super::request::{RecordedRequest, ReplySource};
use super::script::{ScriptedTurn, TurnFault};
use super::sessions::{AssignedTurn, ScriptedSessions};

const EVENT_STREAM: &str = "text/event-stream";

/// Whether the path belongs to this API.
pub(crate) fn is_path(path: &str) -> bool {
    matches!(
        path,
        "/v1/responses" | "/v1/chat/completions" | "/v1/models"
    )
}

pub(crate) fn answer(
    request: &RecordedRequest,
    sessions: &mut ScriptedSessions,
) -> (ReplySource, ServerReply) {
    let say: fn(&RecordedRequest, &ScriptedTurn, &str) -> ServerReply = match request.path.as_str()
    {
        "/v1/responses" => responses::render_turn,
        "/v1/chat/completions" => chat::render_turn,
        _ => return (ReplySource::Side, ServerReply::json(&json!({"data": []}))),
    };
    if request.is_title_request() {
        let turn = ScriptedTurn::text("A scripted session");
        return (ReplySource::Side, say(request, &turn, "side"));
    }
    let taken = sessions.take_turn(request);
    (taken.reply_source(), reply(request, &taken, say))
}

fn reply(
    request: &RecordedRequest,
    taken: &AssignedTurn,
    say: fn(&RecordedRequest, &ScriptedTurn, &str) -> ServerReply,
) -> ServerReply {
    let Some(turn) = &taken.turn else {
        return error(400, &taken.exhausted_message());
    };
    let id = format!("{}_{}", taken.session, taken.number);
    let reply = match turn.fault {
        Some(TurnFault::Status { code, retry_after }) => {
            error(code, &format!("scripted {code}")).with_retry_after(retry_after)
        }
        Some(TurnFault::UsageLimit { resets_in }) => {
            let error = json!({
                "type": "usage_limit_reached",
                "message": "The usage limit has been reached",
                "plan_type": "plus",
                "resets_at": seconds_from_now(resets_in),
                "resets_in_seconds": resets_in,
            });
            ServerReply::json(&json!({"error": error})).with_status(429)
        }
        _ => say(request, turn, &id),
    };
    reply.with_fault(turn.fault)
}

fn error(code: u16, message: &str) -> ServerReply {
    let kind = match code {
        400 | 404 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let error = json!({"message": message, "type": kind, "param": null, "code": null});
    ServerReply::json(&json!({"error": error})).with_status(code)
}

/// Splits a text into two deltas for streaming.
fn split_in_half(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
