//! A recorded request, with accessors for tests: which turn answered it, and which text the user (that
//! is, Selvedge through its agent) sent in it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A request that the server received.
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
    /// The body as JSON; null if it was empty or not JSON.
    pub body: Value,
    /// The source of the reply.
    pub answer: ReplySource,
}

/// The source of a reply. Sessions and turns are counted from 1.
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
    /// The main conversation needed more turns than the script has: answered with 400.
    NothingLeft {
        /// The session's number.
        session: usize,
        /// The number of the missing turn.
        turn: usize,
    },
    /// A call outside the client's main conversation (titles, summaries, probes).
    Side,
    /// The requested model is not among the script's models.
    NoSuchModel,
    /// The server does not know the path: answered with 404.
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

    /// The prompt that opened the conversation: the first user message, or the last one if the client
    /// starts with an example conversation.
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

    /// The text of every user message, without text that clients inject (reminders, descriptions of the
    /// machine) and without messages that contain only tool results.
    pub fn user_texts(&self) -> Vec<String> {
        let texts = self.messages_of("user").map(message_text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Whether the conversation already contains output of the model.
    pub(crate) fn has_model_turn(&self) -> bool {
        let is_played =
            |message: &Value| message_text(message).starts_with(EXAMPLE_CONVERSATION_END);
        self.messages().any(is_from_model) && !self.messages().any(is_played)
    }

    /// Whether the request only asks for a title of the session, as OpenCode, Droid and Codex's ACP adapter do.
    pub(crate) fn is_title_request(&self) -> bool {
        let system = self.messages_of("system").map(message_text);
        let system = system.fold(String::new(), |all, text| all + &text);
        let marks = ["title generator", "generates concise session titles"];
        let mut prompts = self.messages_of("user").map(message_text);
        marks.iter().any(|mark| system.contains(mark))
            || prompts.any(|prompt| prompt.starts_with(TITLE_PROMPT))
    }

    /// The messages of the conversation, whatever the API calls them: messages, input or contents.
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

/// The beginning of a prompt that asks for a title.
const TITLE_PROMPT: &str = "Your task is to generate a very short title";

/// The end of the example conversation that aider puts before each of its own.
const EXAMPLE_CONVERSATION_END: &str = "I switched to a new code base.";

/// Whether a message is output of the model. In the Responses API, tool calls and reasoning are items
/// without a role.
fn is_from_model(message: &Value) -> bool {
    let role = message["role"].as_str();
    let kind = message["type"].as_str();
    matches!(role, Some("assistant" | "model"))
        || kind.is_some_and(|kind| kind.ends_with("_call") || kind == "reasoning")
}

/// The text of a message: its content is a string, or blocks of which only the text blocks count.
fn message_text(message: &Value) -> String {
    let blocks = match (&message["content"], &message["parts"]) {
        (Value::String(text), _) => return text.clone(),
        (Value::Array(blocks), _) | (_, Value::Array(blocks)) => blocks,
        _ => return String::new(),
    };
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let own_texts: Vec<_> = texts.filter(|text| !is_injected_text(text)).collect();
    own_texts.join("\n")
}

/// Whether Claude Code, Codex or Gemini CLI injected this text into the user's message.
fn is_injected_text(text: &str) -> bool {
    const TAGS: [&str; 4] = [
        "<system-reminder>",
        "<environment_context>",
        "<session_context>",
        "<permissions instructions>",
    ];
    TAGS.iter().any(|tag| text.trim_start().starts_with(tag))
}
