//! OpenCode's records: steps that begin and finish, each with its tokens and cost, and in them
//! texts and completed tools.

use selvedge_core::model::{MicroUsd, SessionStatus, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::jsonl::{self, ErrorMessage, SessionState, lenient, tool_call_from_input};

/// Parser of OpenCode's records; keeps no state between two records.
#[derive(Debug, Default)]
pub(in crate::agents) struct OpenCodeEventParser;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(rename = "sessionID", deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(borrow, deserialize_with = "lenient")]
    part: OpenCodePart<'a>,
    /// `error`.
    #[serde(deserialize_with = "lenient")]
    error: OpenCodeError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodePart<'a> {
    /// `text`.
    #[serde(deserialize_with = "lenient")]
    text: String,
    /// `tool_use`.
    #[serde(deserialize_with = "lenient")]
    tool: String,
    #[serde(rename = "callID", deserialize_with = "lenient")]
    call_id: String,
    #[serde(borrow, deserialize_with = "lenient")]
    state: OpenCodeToolState<'a>,
    /// `step_finish`.
    #[serde(deserialize_with = "lenient")]
    reason: String,
    #[serde(deserialize_with = "lenient")]
    cost: f64,
    #[serde(deserialize_with = "lenient")]
    tokens: OpenCodeTokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeToolState<'a> {
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(deserialize_with = "lenient")]
    output: String,
    #[serde(deserialize_with = "lenient")]
    error: String,
    #[serde(deserialize_with = "lenient")]
    metadata: OpenCodeToolMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeToolMetadata {
    /// Exit code of a command.
    #[serde(deserialize_with = "lenient")]
    exit: Option<i64>,
}

/// Tokens of one step: cached ones are not included in the input, nor reasoning in the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeTokens {
    #[serde(deserialize_with = "lenient")]
    input: u64,
    #[serde(deserialize_with = "lenient")]
    output: u64,
    #[serde(deserialize_with = "lenient")]
    reasoning: u64,
    #[serde(deserialize_with = "lenient")]
    cache: OpenCodeCacheTokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeCacheTokens {
    #[serde(deserialize_with = "lenient")]
    read: u64,
    #[serde(deserialize_with = "lenient")]
    write: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenCodeError {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    data: ErrorMessage,
}

impl From<OpenCodeTokens> for Usage {
    fn from(tokens: OpenCodeTokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output.saturating_add(tokens.reasoning),
            cache_read: tokens.cache.read,
            cache_write: tokens.cache.write,
        }
    }
}

impl jsonl::EventParser for OpenCodeEventParser {
    const RETRIES_ITSELF: bool = true;

    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<OpenCodeRecord<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id = record.session_id;
        }
        let part = record.part;
        match record.kind.as_deref() {
            Some("step_start") => account.on_resumed(),
            Some("text") => account.on_text(&part.text),
            Some("tool_use") => on_tool(&part, account),
            Some("step_finish") => on_step(part, account),
            Some("error") => {
                let OpenCodeError { name, data } = record.error;
                let message = if data.message.is_empty() {
                    name
                } else {
                    data.message
                };
                account.on_result(SessionStatus::Failed, Some(&message));
            }
            Some("reasoning") => {}
            _ => return false,
        }
        true
    }
}

/// A tool is reported after it has completed.
fn on_tool(part: &OpenCodePart<'_>, account: &mut SessionState) {
    let state = &part.state;
    account.on_tool_start(&part.call_id, tool_call_from_input(&part.tool, state.input));
    let error = match (state.status.as_str(), state.metadata.exit) {
        ("error", _) => Some(state.error.clone()),
        (_, Some(code)) if code != 0 => Some(format!("exited with {code}: {}", state.output)),
        _ => None,
    };
    account.on_tool_end(&part.call_id, error.as_deref());
}

fn on_step(part: OpenCodePart<'_>, account: &mut SessionState) {
    account.usage = account.usage + Usage::from(part.tokens);
    account.turns = Some(account.turns.unwrap_or_default().saturating_add(1));
    // A model without a known price is reported with cost zero: the cost is then unknown.
    if let Some(cost) = MicroUsd::from_usd(part.cost).filter(|cost| cost.0 > 0) {
        let before = account.cost.unwrap_or_default();
        account.cost = Some(MicroUsd(before.0.saturating_add(cost.0)));
    }
    match part.reason.as_str() {
        "stop" => account.on_result(SessionStatus::Success, None),
        // Another step follows.
        "tool-calls" => {}
        other => account.on_result(
            SessionStatus::Failed,
            Some(&format!("the model stopped: {other}")),
        ),
    }
}
