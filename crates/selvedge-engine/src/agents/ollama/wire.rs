//! Ollama's `/api/chat` as types: the request, and the used fields of the answer. Every field of
//! the answer may be missing.

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

/// Options whose default values are too small.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct OllamaOptions {
    /// Tokens of context. The server silently cuts off what does not fit.
    pub(super) num_ctx: usize,
    /// Maximum tokens of one answer: a small model may never stop.
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

/// The part of the answer in a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaChunkMessage {
    pub(super) content: Option<String>,
    pub(super) tool_calls: Option<Vec<RequestedToolCall>>,
}

/// The answer of `/api/show` about a model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OllamaModelInfo {
    pub(super) model_info: Map<String, Value>,
    pub(super) capabilities: Option<Vec<String>>,
}

impl OllamaModelInfo {
    /// Tokens of context that the model supports.
    pub(super) fn context_length(&self) -> Option<usize> {
        let mut info = self.model_info.iter();
        let (_, length) = info.find(|(name, _)| name.ends_with(".context_length"))?;
        usize::try_from(length.as_u64()?).ok()
    }

    /// Whether the model supports tool calls. An older server does not report it; then they are
    /// tried.
    pub(super) fn has_tools(&self) -> bool {
        self.capabilities
            .as_ref()
            .is_none_or(|all| all.iter().any(|one| one == "tools"))
    }
}
