//! Converts a conversation to the types of the client library, which converts it to each API's
//! format.

use genai::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolResponse,
};
use serde_json::Value;

use crate::agents::chat::conversation::{ConversationMessage, FunctionCall, MessageRole};

/// Builds the request for the next turn.
pub(super) fn chat_request(messages: &[ConversationMessage], tools: Option<&Value>) -> ChatRequest {
    let mut request = ChatRequest::new(Vec::new());
    let mut answers: Vec<ToolResponse> = Vec::new();
    for message in messages {
        if message.role == MessageRole::Tool && !message.tool_call_id.is_empty() {
            answers.push(tool_response(message));
            continue;
        }
        request = append_tool_responses(request, &mut answers);
        request = match message.role {
            MessageRole::System => request.with_system(message.content.clone()),
            MessageRole::User => request.append_message(ChatMessage::user(message.content.clone())),
            MessageRole::Assistant => request.append_message(chat_message(message)),
            // The call was part of the text, so the API does not know it.
            MessageRole::Tool => {
                let name = message.tool_name.as_deref().unwrap_or_default();
                let text = format!("{name}: {}", message.content);
                request.append_message(ChatMessage::user(text))
            }
        };
    }
    request = append_tool_responses(request, &mut answers);
    match tools {
        Some(tools) => request.with_tools(tool_definitions(tools)),
        None => request,
    }
}

/// APIs require the answers to all calls of one turn together.
fn append_tool_responses(request: ChatRequest, answers: &mut Vec<ToolResponse>) -> ChatRequest {
    match std::mem::take(answers) {
        none if none.is_empty() => request,
        answers => request.append_message(ChatMessage::tool(MessageContent::from_tool_responses(
            answers,
        ))),
    }
}

fn tool_response(message: &ConversationMessage) -> ToolResponse {
    let name = message.tool_name.clone().unwrap_or_default();
    ToolResponse::new(message.tool_call_id.clone(), message.content.clone()).with_fn_name(name)
}

fn chat_message(message: &ConversationMessage) -> ChatMessage {
    let mut content = MessageContent::default();
    if !message.content.is_empty() {
        content.push(ContentPart::Text(message.content.clone()));
    }
    let calls = message.tool_calls.iter().map(|call| &call.function);
    for call in calls.filter(|call| !call.id.is_empty()) {
        content.push(ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: Value::Object(call.arguments.clone()),
            thought_signatures: (!call.signatures.is_empty()).then(|| call.signatures.clone()),
        }));
    }
    if content.is_empty() {
        // APIs reject an empty turn.
        content.push(ContentPart::Text("(nothing)".to_owned()));
    }
    ChatMessage::assistant(content)
}

/// Converts a call to the conversation's type.
pub(super) fn function_call(call: ToolCall) -> FunctionCall {
    let arguments = match call.fn_arguments {
        Value::Object(arguments) => arguments,
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        _ => serde_json::Map::new(),
    };
    FunctionCall {
        id: call.call_id,
        name: call.fn_name,
        arguments,
        signatures: call.thought_signatures.unwrap_or_default(),
    }
}

/// Converts the tools from OpenAI's description of them.
fn tool_definitions(tools: &Value) -> Vec<Tool> {
    let all = tools.as_array().into_iter().flatten();
    let tool = |tool: &Value| {
        let function = tool.get("function")?;
        let about = function.get("description")?.as_str()?;
        let tool = Tool::new(function.get("name")?.as_str()?.to_owned());
        let parameters = function.get("parameters")?.clone();
        Some(tool.with_description(about).with_schema(parameters))
    };
    all.filter_map(tool).collect()
}

#[cfg(test)]
mod tests {
    use genai::chat::ChatRole;

    use super::*;
    use crate::agents::chat::conversation;

    #[test]
    fn messages_group_answers_of_one_turn() {
        let called = |id: &str| conversation::RequestedToolCall {
            function: FunctionCall {
                id: id.to_owned(),
                name: "read_file".to_owned(),
                ..FunctionCall::default()
            },
        };
        let answered = |id: &str| ConversationMessage {
            tool_call_id: id.to_owned(),
            tool_name: Some("read_file".to_owned()),
            ..ConversationMessage::new(MessageRole::Tool, "text")
        };
        let turn = ConversationMessage {
            tool_calls: vec![called("1"), called("2"), called("")],
            ..ConversationMessage::new(MessageRole::Assistant, "")
        };
        let request = chat_request(
            &[
                ConversationMessage::new(MessageRole::System, "system"),
                ConversationMessage::new(MessageRole::User, "task"),
                turn,
                answered("1"),
                answered("2"),
                answered(""),
            ],
            None,
        );
        assert_eq!(request.system.as_deref(), Some("system"));
        let roles: Vec<_> = request.messages.iter().map(|it| it.role.clone()).collect();
        assert!(
            matches!(
                roles[..],
                [
                    ChatRole::User,
                    ChatRole::Assistant,
                    ChatRole::Tool,
                    ChatRole::User
                ]
            ),
            "{roles:?}"
        );
        assert_eq!(request.messages[1].content.tool_calls().len(), 2);
        assert_eq!(request.messages[2].content.tool_responses().len(), 2);
    }
}
