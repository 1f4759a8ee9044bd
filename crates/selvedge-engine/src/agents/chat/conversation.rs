//! A conversation with a model, in the shape that Ollama's API has for it; others turn it into theirs.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agents) enum MessageRole {
    System,
    User,
    Assistant,
    Tool,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::agents) struct ConversationMessage {
    pub(in crate::agents) role: MessageRole,
    pub(in crate::agents) content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::agents) tool_calls: Vec<RequestedToolCall>,
    /// On a tool's answer: which tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::agents) tool_name: Option<String>,
    /// On a tool's answer: which call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::agents) tool_call_id: String,
}

impl ConversationMessage {
    pub(in crate::agents) fn new(role: MessageRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_name: None,
            tool_call_id: String::new(),
        }
    }
}

/// The model wants to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::agents) struct RequestedToolCall {
    pub(in crate::agents) function: FunctionCall,
}

/// Which tool, on what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::agents) struct FunctionCall {
    /// What its answer is known by, where the API has such names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::agents) id: String,
    pub(in crate::agents) name: String,
    #[serde(default, deserialize_with = "deserialize_arguments")]
    pub(in crate::agents) arguments: Map<String, Value>,
    /// What the API wants to see again with the call; no part of the transcript.
    #[serde(skip)]
    pub(in crate::agents) signatures: Vec<String>,
}

/// Arguments as an object; or as its JSON text, which is how OpenAI's API has it.
pub(in crate::agents) fn deserialize_arguments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(arguments) => arguments,
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        _ => Map::new(),
    })
}
