//! Parses an agent's protocol messages one by one: texts, tools, tokens and cost, and how the
//! prompt's turn ended. It works independently of the conversation and leniently: an unknown
//! message is only counted.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, RequestPermissionRequest, SessionNotification, SessionUpdate,
    StopReason, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind, UsageUpdate,
};
use selvedge_core::model::{self as core, MicroUsd, SessionStatus, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::agents::jsonl::{
    self, SessionState, lenient, tool_call_from_input, tool_call_from_subject,
};
use crate::agents::retry::{is_transient, is_transient_message};

/// State kept between two messages.
#[derive(Debug, Default)]
pub(in crate::agents) struct AcpUpdateParser {
    /// Whether the last message was text.
    is_continuing_text: bool,
    /// Whether the last error has the HTTP status of a transient failure as its code.
    is_transient: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AcpMessage<'a> {
    #[serde(deserialize_with = "lenient")]
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(deserialize_with = "lenient")]
    result: AcpResponse,
    #[serde(deserialize_with = "lenient")]
    error: Option<AcpError>,
}

/// A response to any of our requests: to the prompt if it has a stop reason.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AcpResponse {
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    stop_reason: Option<StopReason>,
    #[serde(deserialize_with = "lenient")]
    usage: AcpTokens,
    #[serde(rename = "_meta", deserialize_with = "lenient")]
    meta: AcpResponseMeta,
}

/// Metadata in which Gemini CLI reports its tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AcpResponseMeta {
    #[serde(deserialize_with = "lenient")]
    quota: GeminiQuota,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiQuota {
    #[serde(deserialize_with = "lenient")]
    token_count: AcpTokens,
    #[serde(deserialize_with = "lenient")]
    model_usage: Vec<GeminiModelUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiModelUsage {
    #[serde(deserialize_with = "lenient")]
    model: String,
}

/// Tokens: cached ones are not included in the input, nor thoughts in the output.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct AcpTokens {
    #[serde(
        alias = "inputTokens",
        alias = "input_tokens",
        deserialize_with = "lenient"
    )]
    input: u64,
    #[serde(
        alias = "outputTokens",
        alias = "output_tokens",
        deserialize_with = "lenient"
    )]
    output: u64,
    #[serde(rename = "thoughtTokens", deserialize_with = "lenient")]
    thought: u64,
    #[serde(rename = "cachedReadTokens", deserialize_with = "lenient")]
    cache_read: u64,
    #[serde(rename = "cachedWriteTokens", deserialize_with = "lenient")]
    cache_write: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AcpError {
    #[serde(deserialize_with = "lenient")]
    code: i64,
    #[serde(deserialize_with = "lenient")]
    message: String,
    #[serde(deserialize_with = "lenient")]
    data: Value,
}

impl From<AcpTokens> for Usage {
    fn from(tokens: AcpTokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output.saturating_add(tokens.thought),
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
        }
    }
}

impl jsonl::EventParser for AcpUpdateParser {
    fn is_transient_error(&self, error: &str) -> bool {
        self.is_transient || is_transient_message(error)
    }

    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(message) = serde_json::from_str::<AcpMessage<'_>>(line) else {
            return false;
        };
        if let Some(trouble) = message.error {
            let status = u16::try_from(trouble.code);
            self.is_transient = status.is_ok_and(is_transient);
            account.on_result(SessionStatus::Failed, Some(&trouble.full_message()));
        } else if message.method.as_deref() == Some("session/update") {
            let params = message.params.map_or("", RawValue::get);
            return match serde_json::from_str::<SessionNotification>(params) {
                Ok(notification) => self.apply_update(notification.update, account),
                Err(_) => false,
            };
        } else if message.method.as_deref() == Some("session/request_permission") {
            let params = message.params.map_or("", RawValue::get);
            // Some agents report a call only by asking for permission, and then only its result.
            if let Ok(request) = serde_json::from_str::<RequestPermissionRequest>(params) {
                on_permission_request(request.tool_call, account);
            }
        } else {
            // Text before the answer to a request, such as Gemini CLI's note of its mode, is a message of its own.
            self.is_continuing_text = false;
            message.result.apply_to(account);
        }
        true
    }
}

impl AcpUpdateParser {
    fn apply_update(&mut self, update: SessionUpdate, account: &mut SessionState) -> bool {
        let was_saying = std::mem::take(&mut self.is_continuing_text);
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.is_continuing_text = true;
                let text = chunk_text(chunk);
                if was_saying {
                    account.on_text_delta(&text);
                } else {
                    account.on_text(&text);
                }
            }
            SessionUpdate::ToolCall(tool) => on_tool_call(tool, account),
            SessionUpdate::ToolCallUpdate(tool) => on_tool_call_update(tool, account),
            SessionUpdate::UsageUpdate(usage) => on_usage_update(&usage, account),
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AgentThoughtChunk(_)
            | SessionUpdate::Plan(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::CurrentModeUpdate(_)
            | SessionUpdate::ConfigOptionUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_) => self.is_continuing_text = was_saying,
            _ => return false,
        }
        true
    }
}

fn chunk_text(chunk: ContentChunk) -> String {
    match chunk.content {
        ContentBlock::Text(text) => text.text,
        _ => String::new(),
    }
}

fn on_tool_call(tool: ToolCall, account: &mut SessionState) {
    let id = tool.tool_call_id.0;
    let name = tool.name.as_deref().unwrap_or(kind_name(tool.kind));
    account.on_tool_start(
        &id,
        describe_call(name, &tool.title, tool.raw_input.as_ref()),
    );
    on_tool_end(&id, Some(tool.status), &tool.content, account);
}

fn on_permission_request(tool: ToolCallUpdate, account: &mut SessionState) {
    let (id, fields) = (tool.tool_call_id.0, tool.fields);
    let kind = kind_name(fields.kind.unwrap_or_default());
    let name = fields.name.as_deref().unwrap_or(kind);
    let title = fields.title.as_deref().unwrap_or_default();
    account.on_tool_start(&id, describe_call(name, title, fields.raw_input.as_ref()));
}

fn on_tool_call_update(tool: ToolCallUpdate, account: &mut SessionState) {
    let (id, fields) = (tool.tool_call_id.0, tool.fields);
    // Some agents report only now what the call is about.
    if let (Some(title), Some(input)) = (&fields.title, &fields.raw_input) {
        let kind = kind_name(fields.kind.unwrap_or_default());
        let name = fields.name.as_deref().unwrap_or(kind);
        account.on_tool_update(&id, describe_call(name, title, Some(input)));
    }
    let content = fields.content.unwrap_or_default();
    on_tool_end(&id, fields.status, &content, account);
}

/// Describes a tool call: by its arguments, otherwise by the agent's title.
fn describe_call(name: &str, title: &str, input: Option<&Value>) -> core::ToolCall {
    let input = input.and_then(|input| to_raw_value(input).ok());
    let called = tool_call_from_input(name, input.as_deref());
    if !called.subject.is_empty() {
        return called;
    }
    let subject = tool_call_from_subject(name, title).subject;
    core::ToolCall { subject, ..called }
}

/// The name of a tool that has no name of its own.
fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Fetch => "fetch",
        _ => "tool",
    }
}

/// Handles the end of a tool call, successful or not.
fn on_tool_end(
    id: &str,
    status: Option<ToolCallStatus>,
    content: &[ToolCallContent],
    account: &mut SessionState,
) {
    match status {
        Some(ToolCallStatus::Completed) => account.on_tool_end(id, None),
        Some(ToolCallStatus::Failed) => {
            let mut texts = content.iter().filter_map(|it| match it {
                ToolCallContent::Content(content) => match &content.content {
                    ContentBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                },
                _ => None,
            });
            let text = texts.next_back().unwrap_or("failed");
            account.on_tool_end(id, Some(text));
        }
        _ => {}
    }
}

fn on_usage_update(usage: &UsageUpdate, account: &mut SessionState) {
    let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD");
    let spent = dollars.and_then(|cost| MicroUsd::from_usd(cost.amount));
    // A model without a known price is reported with cost zero: the cost is then unknown.
    if let Some(spent) = spent.filter(|spent| spent.0 > 0) {
        account.cost = Some(spent);
    }
}

impl AcpResponse {
    fn apply_to(self, account: &mut SessionState) {
        if self.session_id.is_some() {
            account.session_id = self.session_id;
            // The session is open: an earlier request for it may have been refused before the login.
            account.on_resumed();
        }
        let Some(stopped) = self.stop_reason else {
            return;
        };
        let candidates = [self.usage, self.meta.quota.token_count].map(Usage::from);
        let usage = candidates.into_iter().find(|usage| usage.total() > 0);
        account.usage = usage.unwrap_or_default();
        let mut models = self.meta.quota.model_usage.into_iter();
        match (models.next(), models.next()) {
            (Some(only), None) if !only.model.is_empty() => account.model = Some(only.model),
            (Some(_), Some(_)) => account.has_several_models = true,
            _ => {}
        }
        let (status, error) = match stopped {
            StopReason::EndTurn => (SessionStatus::Success, None),
            StopReason::MaxTurnRequests => (
                SessionStatus::TurnLimit,
                Some("its limit on turns was reached"),
            ),
            StopReason::MaxTokens => (SessionStatus::Failed, Some("it ran out of tokens")),
            StopReason::Refusal => (SessionStatus::Failed, Some("the model refused")),
            StopReason::Cancelled => (SessionStatus::Cancelled, Some("cancelled")),
            _ => (
                SessionStatus::Failed,
                Some("it stopped for an unknown reason"),
            ),
        };
        account.on_result(status, error);
    }
}

impl AcpError {
    /// The message and its additional data, which often contains the reason.
    fn full_message(&self) -> String {
        let Self { message, data, .. } = self;
        let details = ["details", "message", "error"]
            .iter()
            .find_map(|name| data.get(name)?.as_str());
        match details.or_else(|| data.as_str()) {
            Some(details) => format!("{message}: {details}"),
            None => message.clone(),
        }
    }
}
