//! Codex's records: a thread, its turns, and in them items that start and complete.

use selvedge_core::model::{SessionStatus, ToolCall, Usage};
use serde::Deserialize;

use crate::agents::records::{self, Account, call_of, lenient};

/// What is to be remembered between two of Codex's records: nothing.
#[derive(Debug, Default)]
pub(in crate::agents) struct Records;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    /// `thread.started`.
    #[serde(deserialize_with = "lenient")]
    thread_id: Option<String>,
    /// `item.*`.
    #[serde(deserialize_with = "lenient")]
    item: Item,
    /// `turn.completed`.
    #[serde(deserialize_with = "lenient")]
    usage: Tokens,
    /// `error`.
    #[serde(deserialize_with = "lenient")]
    message: String,
    /// `turn.failed`.
    #[serde(deserialize_with = "lenient")]
    error: Said,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    #[serde(deserialize_with = "lenient")]
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
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
    changes: Vec<Change>,
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
struct Change {
    #[serde(deserialize_with = "lenient")]
    path: String,
}

/// Tokens of the whole thread, which is this session's alone: cached ones are among the input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "these are the program's names")]
struct Tokens {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cached_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_write_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
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

impl records::Records for Records {
    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record>(line) else {
            return false;
        };
        match record.kind.as_deref() {
            Some("thread.started") => account.session_id = record.thread_id,
            Some("turn.started") => account.is_resumed(),
            Some("turn.completed") => {
                account.usage = record.usage.into();
                account.ends(SessionStatus::Success, None);
            }
            Some("turn.failed") => {
                let said = unpacked(&record.error.message);
                account.ends(SessionStatus::Failed, Some(&said));
            }
            Some("error") => error(&record.message, account),
            Some("item.started" | "item.updated") => item(&record.item, false, account),
            Some("item.completed") => item(&record.item, true, account),
            _ => return false,
        }
        true
    }
}

/// An error at the top is a retry, or comes before the turn fails, which says it again.
fn error(message: &str, account: &mut Account) {
    let Some(rest) = message.strip_prefix("Reconnecting... ") else {
        return;
    };
    let (count, why) = rest.split_once(' ').unwrap_or((rest, ""));
    let numbers = count.split_once('/');
    let [attempt, max] = numbers.map_or([0; 2], |(attempt, max)| {
        [attempt, max].map(|number| number.parse().unwrap_or_default())
    });
    account.retries(attempt, max, why.trim_matches(['(', ')']));
}

fn item(item: &Item, is_over: bool, account: &mut Account) {
    let failed = matches!(item.status.as_str(), "failed" | "declined");
    match item.kind.as_str() {
        "agent_message" if is_over => account.says(&item.text),
        "error" if is_over => account.note(&item.message),
        "command_execution" => {
            let error = match item.exit_code {
                Some(0) | None if failed => Some(item.status.clone()),
                Some(0) | None => None,
                Some(code) => Some(format!("exited with {code}: {}", item.aggregated_output)),
            };
            let call = call_of("command", &item.command);
            tell(&item.id, call, is_over, error.as_deref(), account);
        }
        // A call for each file, though it is one patch that does or fails all of it.
        "file_change" => {
            for Change { path, .. } in &item.changes {
                let call = ToolCall {
                    writes: Some(path.clone()),
                    ..call_of("file_change", path)
                };
                let id = format!("{} {path}", item.id);
                let error = failed.then_some("the patch did not apply");
                tell(&id, call, is_over, error, account);
            }
        }
        "mcp_tool_call" => {
            let call = call_of(&format!("{}.{}", item.server, item.tool), "");
            tell(&item.id, call, is_over, failed.then_some("failed"), account);
        }
        "web_search" => {
            let call = call_of("web_search", &item.query);
            tell(&item.id, call, is_over, None, account);
        }
        // Reasoning, a list of things to do, what later releases bring: no call.
        _ => {}
    }
}

fn tell(id: &str, call: ToolCall, is_over: bool, error: Option<&str>, account: &mut Account) {
    account.calls(id, call);
    if is_over {
        account.answered(id, error);
    }
}

/// A provider's answer comes as it is: what it says, where it is JSON that says anything.
fn unpacked(message: &str) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body {
        #[serde(deserialize_with = "lenient")]
        error: Said,
    }
    let body: Body = serde_json::from_str(message).unwrap_or_default();
    if body.error.message.is_empty() {
        message.to_owned()
    } else {
        body.error.message
    }
}
