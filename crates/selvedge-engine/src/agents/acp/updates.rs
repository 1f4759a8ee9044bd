//! What an agent says over the protocol, message by message: texts, tools, tokens and cost, and how the
//! prompt's turn ended. Read beside the conversation, leniently: a message that is not understood is
//! counted, and harms nothing.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, RequestPermissionRequest, SessionNotification, SessionUpdate,
    StopReason, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind, UsageUpdate,
};
use selvedge_core::model::{self as core, MicroUsd, SessionStatus, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::agents::records::{self, Account, call, call_of, lenient};

/// What is to be remembered between two messages.
#[derive(Debug, Default)]
pub(in crate::agents) struct Updates {
    /// Whether the last thing that it did was to say something.
    is_saying: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(deserialize_with = "lenient")]
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(deserialize_with = "lenient")]
    result: Answer,
    #[serde(deserialize_with = "lenient")]
    error: Option<Trouble>,
}

/// The answer to any of our requests: to the prompt where it says why it stopped.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    stop_reason: Option<StopReason>,
    #[serde(deserialize_with = "lenient")]
    usage: Tokens,
    #[serde(rename = "_meta", deserialize_with = "lenient")]
    meta: Meta,
}

/// Where Gemini CLI tells its tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(deserialize_with = "lenient")]
    quota: Quota,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Quota {
    #[serde(deserialize_with = "lenient")]
    token_count: Tokens,
}

/// Tokens: cached ones stand beside the input, thoughts beside the output.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Tokens {
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
struct Trouble {
    #[serde(deserialize_with = "lenient")]
    message: String,
    #[serde(deserialize_with = "lenient")]
    data: Value,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output.saturating_add(tokens.thought),
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
        }
    }
}

impl records::Records for Updates {
    const RETRIES_ITSELF: bool = true;

    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(message) = serde_json::from_str::<Message<'_>>(line) else {
            return false;
        };
        if let Some(trouble) = message.error {
            account.ends(SessionStatus::Failed, Some(&trouble.said()));
        } else if message.method.as_deref() == Some("session/update") {
            let params = message.params.map_or("", RawValue::get);
            return match serde_json::from_str::<SessionNotification>(params) {
                Ok(told) => self.update(told.update, account),
                Err(_) => false,
            };
        } else if message.method.as_deref() == Some("session/request_permission") {
            let params = message.params.map_or("", RawValue::get);
            // Some agents tell of a call by asking whether they may, and then only how it went.
            if let Ok(asked) = serde_json::from_str::<RequestPermissionRequest>(params) {
                asks(asked.tool_call, account);
            }
        } else {
            message.result.take(account);
        }
        true
    }
}

impl Updates {
    fn update(&mut self, update: SessionUpdate, account: &mut Account) -> bool {
        let was_saying = std::mem::take(&mut self.is_saying);
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.is_saying = true;
                let text = text(chunk);
                if was_saying {
                    account.goes_on(&text);
                } else {
                    account.says(&text);
                }
            }
            SessionUpdate::ToolCall(tool) => begins(tool, account),
            SessionUpdate::ToolCallUpdate(tool) => goes_on(tool, account),
            SessionUpdate::UsageUpdate(usage) => costs(&usage, account),
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AgentThoughtChunk(_)
            | SessionUpdate::Plan(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::CurrentModeUpdate(_)
            | SessionUpdate::ConfigOptionUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_) => self.is_saying = was_saying,
            _ => return false,
        }
        true
    }
}

fn text(chunk: ContentChunk) -> String {
    match chunk.content {
        ContentBlock::Text(text) => text.text,
        _ => String::new(),
    }
}

fn begins(tool: ToolCall, account: &mut Account) {
    let id = tool.tool_call_id.0;
    let name = tool.name.as_deref().unwrap_or(kind_name(tool.kind));
    account.calls(&id, called(name, &tool.title, tool.raw_input.as_ref()));
    ends(&id, Some(tool.status), &tool.content, account);
}

fn asks(tool: ToolCallUpdate, account: &mut Account) {
    let (id, fields) = (tool.tool_call_id.0, tool.fields);
    let kind = kind_name(fields.kind.unwrap_or_default());
    let name = fields.name.as_deref().unwrap_or(kind);
    let title = fields.title.as_deref().unwrap_or_default();
    account.calls(&id, called(name, title, fields.raw_input.as_ref()));
}

fn goes_on(tool: ToolCallUpdate, account: &mut Account) {
    let (id, fields) = (tool.tool_call_id.0, tool.fields);
    // Some agents say only now what the call is about.
    if let (Some(title), Some(input)) = (&fields.title, &fields.raw_input) {
        let kind = kind_name(fields.kind.unwrap_or_default());
        let name = fields.name.as_deref().unwrap_or(kind);
        account.knows_more(&id, called(name, title, Some(input)));
    }
    let said = fields.content.unwrap_or_default();
    ends(&id, fields.status, &said, account);
}

/// What a tool is called for: by its arguments, else in the agent's own words.
fn called(name: &str, title: &str, input: Option<&Value>) -> core::ToolCall {
    let input = input.and_then(|input| to_raw_value(input).ok());
    let called = call(name, input.as_deref());
    if !called.subject.is_empty() {
        return called;
    }
    let subject = call_of(name, title).subject;
    core::ToolCall { subject, ..called }
}

/// What a tool is called that has no name of its own.
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

/// A tool that came back, one way or the other.
fn ends(id: &str, status: Option<ToolCallStatus>, said: &[ToolCallContent], account: &mut Account) {
    match status {
        Some(ToolCallStatus::Completed) => account.answered(id, None),
        Some(ToolCallStatus::Failed) => {
            let mut texts = said.iter().filter_map(|content| match content {
                ToolCallContent::Content(content) => match &content.content {
                    ContentBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                },
                _ => None,
            });
            let said = texts.next_back().unwrap_or("failed");
            account.answered(id, Some(said));
        }
        _ => {}
    }
}

fn costs(usage: &UsageUpdate, account: &mut Account) {
    let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD");
    let spent = dollars.and_then(|cost| MicroUsd::from_usd(cost.amount));
    // Nothing is what a model costs that it has no price for: that is not known, then.
    if let Some(spent) = spent.filter(|spent| spent.0 > 0) {
        account.cost = Some(spent);
    }
}

impl Answer {
    fn take(self, account: &mut Account) {
        if self.session_id.is_some() {
            account.session_id = self.session_id;
        }
        let Some(stopped) = self.stop_reason else {
            return;
        };
        let told = [self.usage, self.meta.quota.token_count].map(Usage::from);
        let usage = told.into_iter().find(|usage| usage.total() > 0);
        account.usage = usage.unwrap_or_default();
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
                Some("it stopped for a reason that is not known"),
            ),
        };
        account.ends(status, error);
    }
}

impl Trouble {
    /// The message, and what stands beside it: there the reason often is.
    fn said(&self) -> String {
        let Self { message, data } = self;
        let details = ["details", "message", "error"]
            .iter()
            .find_map(|name| data.get(name)?.as_str());
        match details.or_else(|| data.as_str()) {
            Some(details) => format!("{message}: {details}"),
            None => message.clone(),
        }
    }
}
