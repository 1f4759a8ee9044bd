//! Ollama's `/api/chat` as types: what is sent, and what is read of the answer. Every field of the
//! answer may be missing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agents::chat::conversation::{ConversationMessage, RequestedToolCall};

/// One request.
#[derive(Debug, Serialize)]
pub(super) struct OllamaChatRequest<'a> {
    pub(super) model: &'a str,
    pub(super) messages: &'a [ConversationMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<&'a Value>,
    /// A JSON schema for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<Value>,
    pub(super) stream: bool,
    pub(super) options: OllamaOptions,
}

/// What the server's defaults are too small for.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct OllamaOptions {
    /// Tokens of context. What does not fit is cut off by the server without a word.
    pub(super) num_ctx: usize,
    /// Tokens of one answer at most: a small model may never stop.
    pub(super) num_predict: usize,
}

/// One line of the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaChunk {
    pub(super) message: Option<OllamaChunkMessage>,
    pub(super) done: bool,
    pub(super) done_reason: Option<String>,
    pub(super) prompt_eval_count: Option<u64>,
    pub(super) eval_count: Option<u64>,
    /// In the middle of a stream: the server gave up.
    pub(super) error: Option<String>,
}

/// What a line adds to the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaChunkMessage {
    pub(super) content: Option<String>,
    pub(super) tool_calls: Option<Vec<RequestedToolCall>>,
}

/// The body of an HTTP error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaErrorBody {
    pub(super) error: String,
}

/// What `/api/show` says of a model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaModelInfo {
    pub(super) model_info: Map<String, Value>,
    pub(super) capabilities: Option<Vec<String>>,
}

impl OllamaModelInfo {
    /// Tokens that the model was made for.
    pub(super) fn context_length(&self) -> Option<usize> {
        let mut info = self.model_info.iter();
        let (_, length) = info.find(|(name, _)| name.ends_with(".context_length"))?;
        usize::try_from(length.as_u64()?).ok()
    }

    /// Whether it can call tools. An older server does not say; then it is tried.
    pub(super) fn has_tools(&self) -> bool {
        self.capabilities
            .as_ref()
            .is_none_or(|all| all.iter().any(|one| one == "tools"))
    }
}
