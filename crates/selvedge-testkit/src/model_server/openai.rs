//! OpenAI's APIs: Responses as Codex uses it, and chat completions as everybody else does. Both come
//! streamed or whole, and count cached tokens among the input.

mod chat;
mod responses;

use serde_json::{Value, json};

use super::reply::Reply;
use super::request::{Answer, Request};
use super::script::{Fault, Turn};
use super::sessions::{Sessions, Taken};

const EVENT_STREAM: &str = "text/event-stream";

/// Whether the path is one of this API's.
pub(crate) fn is_path(path: &str) -> bool {
    matches!(
        path,
        "/v1/responses" | "/v1/chat/completions" | "/v1/models"
    )
}

pub(crate) fn answer(request: &Request, sessions: &mut Sessions) -> (Answer, Reply) {
    let say: fn(&Request, &Turn, &str) -> Reply = match request.path.as_str() {
        "/v1/responses" => responses::say,
        "/v1/chat/completions" => chat::say,
        _ => return (Answer::Side, Reply::json(&json!({"data": []}))),
    };
    if request.names_a_session() {
        let turn = Turn::text("A scripted session");
        return (Answer::Side, say(request, &turn, "side"));
    }
    let taken = sessions.take_turn(request);
    (taken.answer(), reply(request, &taken, say))
}

fn reply(request: &Request, taken: &Taken, say: fn(&Request, &Turn, &str) -> Reply) -> Reply {
    let Some(turn) = &taken.turn else {
        return error(400, &taken.nothing_left());
    };
    let id = format!("{}_{}", taken.session, taken.number);
    let reply = match turn.fault {
        Some(Fault::Status { code, retry_after }) => {
            error(code, &format!("scripted {code}")).retry_after(retry_after)
        }
        _ => say(request, turn, &id),
    };
    reply.failing(turn.fault)
}

fn error(code: u16, message: &str) -> Reply {
    let kind = match code {
        400 | 404 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let error = json!({"message": message, "type": kind, "param": null, "code": null});
    Reply::json(&json!({"error": error})).status(code)
}

/// A text in two pieces, as it would come streamed.
fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
