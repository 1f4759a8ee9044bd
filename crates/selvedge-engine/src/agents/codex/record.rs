//! Codex's records: a thread, its turns, and in them items that start and complete.

use std::time::Duration;

use selvedge_core::model::{SessionStatus, ToolCall, Usage};
use serde::Deserialize;

use crate::agents::jsonl::{self, ErrorMessage, SessionState, lenient, tool_call_from_subject};

/// Parser of Codex's records; keeps no state between two records.
#[derive(Debug, Default)]
pub(in crate::agents) struct CodexEventParser;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexRecord {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    /// `thread.started`.
    #[serde(deserialize_with = "lenient")]
    thread_id: Option<String>,
    /// `item.*`.
    #[serde(deserialize_with = "lenient")]
    item: CodexItem,
    /// `turn.completed`.
    #[serde(deserialize_with = "lenient")]
    usage: CodexTokens,
    /// `error`.
    #[serde(deserialize_with = "lenient")]
    message: String,
    /// `turn.failed`.
    #[serde(deserialize_with = "lenient")]
    error: ErrorMessage,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexItem {
    #[serde(deserialize_with = "lenient")]
    id: String,
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    /// `agent_message`.
    #[serde(deserialize_with = "lenient")]
    text: String,
    /// `command_execution`.
    #[serde(deserialize_with = "lenient")]
    command: String,
    #[serde(deserialize_with = "lenient")]
    aggregated_output: String,
    #[serde(deserialize_with = "lenient")]
    exit_code: Option<i64>,
    /// `file_change`.
    #[serde(deserialize_with = "lenient")]
    changes: Vec<CodexFileChange>,
    /// `mcp_tool_call`.
    #[serde(deserialize_with = "lenient")]
    server: String,
    #[serde(deserialize_with = "lenient")]
    tool: String,
    /// `web_search`.
    #[serde(deserialize_with = "lenient")]
    query: String,
    /// `error`: a warning, not the end.
    #[serde(deserialize_with = "lenient")]
    message: String,
    #[serde(deserialize_with = "lenient")]
    status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexFileChange {
    #[serde(deserialize_with = "lenient")]
    path: String,
}

/// Tokens of the whole thread, which belongs to this session alone: the input includes cached ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "these are the program's names")]
struct CodexTokens {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cached_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_write_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
}

impl From<CodexTokens> for Usage {
    fn from(tokens: CodexTokens) -> Self {
        let cached = tokens
            .cached_input_tokens
            .saturating_add(tokens.cache_write_input_tokens);
        Self {
            input: tokens.input_tokens.saturating_sub(cached),
            output: tokens.output_tokens,
            cache_read: tokens.cached_input_tokens,
            cache_write: tokens.cache_write_input_tokens,
        }
    }
}

impl jsonl::EventParser for CodexEventParser {
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<CodexRecord>(line) else {
            return false;
        };
        match record.kind.as_deref() {
            Some("thread.started") => account.session_id = record.thread_id,
            Some("turn.started") => account.on_resumed(),
            Some("turn.completed") => {
                account.usage = record.usage.into();
                account.on_result(SessionStatus::Success, None);
            }
            Some("turn.failed") => {
                let message = provider_error_message(&record.error.message);
                account.on_result(SessionStatus::Failed, Some(&message));
            }
            Some("error") => on_error(&record.message, account),
            Some("item.started" | "item.updated") => on_item(&record.item, false, account),
            Some("item.completed") => on_item(&record.item, true, account),
            _ => return false,
        }
        true
    }
}

/// A top-level error is a retry, or precedes a failed turn, which repeats it.
fn on_error(message: &str, account: &mut SessionState) {
    let Some(rest) = message.strip_prefix("Reconnecting... ") else {
        return;
    };
    let (count, why) = rest.split_once(' ').unwrap_or((rest, ""));
    let numbers = count.split_once('/');
    let [attempt, max] = numbers.map_or([0; 2], |(attempt, max)| {
        [attempt, max].map(|number| number.parse().unwrap_or_default())
    });
    let why = why.trim_matches(['(', ')']);
    account.on_api_retry(attempt, max, Duration::ZERO, why);
}

fn on_item(item: &CodexItem, is_over: bool, account: &mut SessionState) {
    let failed = matches!(item.status.as_str(), "failed" | "declined");
    match item.kind.as_str() {
        "agent_message" if is_over => account.on_text(&item.text),
        "error" if is_over => account.on_note(&item.message),
        "command_execution" => {
            let error = match item.exit_code {
                Some(0) | None if failed => Some(item.status.clone()),
                Some(0) | None => None,
                Some(code) => Some(format!("exited with {code}: {}", item.aggregated_output)),
            };
            let call = tool_call_from_subject("command", &item.command);
            report_tool_call(&item.id, call, is_over, error.as_deref(), account);
        }
        // One call for each file, although it is one patch that succeeds or fails as a whole.
        "file_change" => {
            for CodexFileChange { path, .. } in &item.changes {
                let call = ToolCall {
                    writes: Some(path.clone()),
                    ..tool_call_from_subject("file_change", path)
                };
                let id = format!("{} {path}", item.id);
                let error = failed.then_some("the patch did not apply");
                report_tool_call(&id, call, is_over, error, account);
            }
        }
        "mcp_tool_call" => {
            let call = tool_call_from_subject(&format!("{}.{}", item.server, item.tool), "");
            report_tool_call(&item.id, call, is_over, failed.then_some("failed"), account);
        }
        "web_search" => {
            let call = tool_call_from_subject("web_search", &item.query);
            report_tool_call(&item.id, call, is_over, None, account);
        }
        // Reasoning, to-do lists and unknown items are not calls.
        _ => {}
    }
}

fn report_tool_call(
    id: &str,
    call: ToolCall,
    is_over: bool,
    error: Option<&str>,
    account: &mut SessionState,
) {
    account.on_tool_start(id, call);
    if is_over {
        account.on_tool_end(id, error);
    }
}

/// A provider's answer is passed on unchanged: extract its message if it is JSON that contains one.
fn provider_error_message(message: &str) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct CodexErrorBody {
        #[serde(deserialize_with = "lenient")]
        error: ErrorMessage,
    }
    let body: CodexErrorBody = serde_json::from_str(message).unwrap_or_default();
    if body.error.message.is_empty() {
        message.to_owned()
    } else {
        body.error.message
    }
}
