//! A conversation with a model, in the format of Ollama's API; clients of other APIs convert it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The sender of a message.
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
    /// The tool, in a tool's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::agents) tool_name: Option<String>,
    /// The call's id, in a tool's answer.
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

/// A tool call requested by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::agents) struct RequestedToolCall {
    pub(in crate::agents) function: FunctionCall,
}

/// The tool and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::agents) struct FunctionCall {
    /// The call's id, if the API uses ids.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::agents) id: String,
    pub(in crate::agents) name: String,
    #[serde(default, deserialize_with = "deserialize_arguments")]
    pub(in crate::agents) arguments: Map<String, Value>,
    /// Values that the API expects to be sent back with the call; not part of the transcript.
    #[serde(skip)]
    pub(in crate::agents) signatures: Vec<String>,
}

/// Reads arguments given as an object, or as JSON text, as in OpenAI's API.
pub(in crate::agents) fn deserialize_arguments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(arguments) => arguments,
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        _ => Map::new(),
    })
}
