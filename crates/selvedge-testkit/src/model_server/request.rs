//! A request as the server saw it, with the readings that tests want: which turn answered it, and
//! what the user (that is, Selvedge through its agent) said in it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// One recorded request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The query, empty if there was none.
    pub query: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON; null when it was empty or no JSON.
    pub body: Value,
    /// What the server answered it with.
    pub answer: ReplySource,
}

/// Where an answer came from. Sessions and turns are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplySource {
    /// A turn of the script.
    Turn {
        /// The session's number.
        session: usize,
        /// The turn's number within its session.
        turn: usize,
    },
    /// The main conversation asked for more than the script has: answered with 400.
    NothingLeft {
        /// The session's number.
        session: usize,
        /// The turn that the script lacks.
        turn: usize,
    },
    /// A call that the client makes beside its main conversation (titles, summaries, probes).
    Side,
    /// A model that the script says the server does not have.
    NoSuchModel,
    /// A path that the server does not know: answered with 404.
    NoSuchPath,
}

impl RecordedRequest {
    /// The session that the request belongs to, if it is part of a main conversation.
    pub fn session(&self) -> Option<usize> {
        match self.answer {
            ReplySource::Turn { session, .. } | ReplySource::NothingLeft { session, .. } => {
                Some(session)
            }
            ReplySource::Side | ReplySource::NoSuchModel | ReplySource::NoSuchPath => None,
        }
    }

    /// What opened the conversation: the text of its first user message, or where the client plays a whole
    /// conversation before it, of its last.
    pub fn prompt(&self) -> String {
        let mut texts = self.user_texts();
        if texts
            .iter()
            .any(|text| text.starts_with(EXAMPLE_CONVERSATION_END))
        {
            return texts.pop().unwrap_or_default();
        }
        texts.into_iter().next().unwrap_or_default()
    }

    /// The text of every user message, without what clients slip in beside it (reminders, what the
    /// machine is like) and without messages that hold only tool results.
    pub fn user_texts(&self) -> Vec<String> {
        let texts = self.messages_of("user").map(message_text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Whether the model has already spoken in this conversation.
    pub(crate) fn has_model_turn(&self) -> bool {
        let is_played =
            |message: &Value| message_text(message).starts_with(EXAMPLE_CONVERSATION_END);
        self.messages().any(is_from_model) && !self.messages().any(is_played)
    }

    /// Whether the client only asks for a title of its session, as OpenCode does.
    pub(crate) fn is_title_request(&self) -> bool {
        let system = self.messages_of("system").map(message_text);
        system
            .fold(String::new(), |all, text| all + &text)
            .contains("title generator")
    }

    /// The conversation, in the words of whichever API: messages, items, contents.
    fn messages(&self) -> impl Iterator<Item = &Value> {
        let fields = ["messages", "input", "contents"];
        let messages = fields.iter().find_map(|field| self.body[*field].as_array());
        messages.map(Vec::as_slice).unwrap_or_default().iter()
    }

    fn messages_of(&self, role: &'static str) -> impl Iterator<Item = &Value> {
        self.messages()
            .filter(move |message| message["role"] == role)
    }
}

/// How aider ends the conversation that it plays as an example before each of its own.
const EXAMPLE_CONVERSATION_END: &str = "I switched to a new code base.";

/// What the model said or did: the Responses API has items of their own for its calls.
fn is_from_model(message: &Value) -> bool {
    let role = message["role"].as_str();
    let kind = message["type"].as_str();
    matches!(role, Some("assistant" | "model"))
        || kind.is_some_and(|kind| kind.ends_with("_call") || kind == "reasoning")
}

/// A message's content is a string, or blocks of which only the text blocks count.
fn message_text(message: &Value) -> String {
    let blocks = match (&message["content"], &message["parts"]) {
        (Value::String(text), _) => return text.clone(),
        (Value::Array(blocks), _) | (_, Value::Array(blocks)) => blocks,
        _ => return String::new(),
    };
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let said: Vec<_> = texts.filter(|text| !is_injected_text(text)).collect();
    said.join("\n")
}

/// What Claude Code, Codex and Gemini CLI say in the user's place.
fn is_injected_text(text: &str) -> bool {
    const TAGS: [&str; 4] = [
        "<system-reminder>",
        "<environment_context>",
        "<session_context>",
        "<permissions instructions>",
    ];
    TAGS.iter().any(|tag| text.trim_start().starts_with(tag))
}
