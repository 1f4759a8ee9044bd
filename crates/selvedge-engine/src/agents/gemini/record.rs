//! Gemini CLI's records: messages in parts, tools by their ids, and one result.

use std::collections::BTreeMap;

use selvedge_core::model::{SessionStatus, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::jsonl::{self, SessionState, lenient, tool_call_from_input};

/// Remembers whether the next part of a message continues the one before.
#[derive(Debug, Default)]
pub(in crate::agents) struct GeminiEventParser {
    is_continuing_text: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    /// `init`.
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    /// `message`.
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(deserialize_with = "lenient")]
    content: String,
    /// `tool_use` and `tool_result`.
    #[serde(deserialize_with = "lenient")]
    tool_id: String,
    #[serde(deserialize_with = "lenient")]
    tool_name: String,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    /// `tool_result` and `result`.
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(deserialize_with = "lenient")]
    output: String,
    #[serde(deserialize_with = "lenient")]
    error: GeminiErrorMessage,
    /// `error`: a warning, not the end.
    #[serde(deserialize_with = "lenient")]
    message: String,
    /// `result`.
    #[serde(deserialize_with = "lenient")]
    stats: GeminiStats,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiErrorMessage {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    message: String,
}

/// Tokens of the whole session: the input includes cached ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiStats {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cached: u64,
    #[serde(deserialize_with = "lenient")]
    models: BTreeMap<String, GeminiModelStats>,
}

/// One model's share of the tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiModelStats {
    #[serde(deserialize_with = "lenient")]
    total_tokens: u64,
}

impl jsonl::EventParser for GeminiEventParser {
    const RETRIES_ITSELF: bool = true;

    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<GeminiRecord<'_>>(line) else {
            return false;
        };
        let was_saying = std::mem::take(&mut self.is_continuing_text);
        match record.kind.as_deref() {
            Some("init") => {
                account.session_id = record.session_id;
                account.model = record.model;
            }
            Some("message") if record.role == "assistant" => {
                self.is_continuing_text = true;
                if was_saying {
                    account.on_text_delta(&record.content);
                } else {
                    account.on_text(&record.content);
                }
            }
            // The prompt.
            Some("message") => {}
            Some("tool_use") => {
                account.on_tool_start(
                    &record.tool_id,
                    tool_call_from_input(&record.tool_name, record.parameters),
                );
            }
            Some("tool_result") => {
                let message = [record.error.message, record.output];
                let message = message.iter().find(|text| !text.is_empty());
                let failed = record.status == "error";
                let error = failed.then(|| message.map_or("failed", String::as_str));
                account.on_tool_end(&record.tool_id, error);
            }
            Some("error") => account.on_note(&record.message),
            Some("result") => on_result(&record, account),
            _ => return false,
        }
        true
    }
}

fn on_result(record: &GeminiRecord<'_>, account: &mut SessionState) {
    let stats = &record.stats;
    account.usage = Usage {
        input: stats.input_tokens.saturating_sub(stats.cached),
        output: stats.output_tokens,
        cache_read: stats.cached,
        cache_write: 0,
    };
    // The model that answered, if it is the only one: the cost of several models cannot be
    // calculated from the sum of their tokens.
    let mut models = stats
        .models
        .iter()
        .filter(|(_, used)| used.total_tokens > 0);
    match (models.next(), models.next()) {
        (Some((model, _)), None) => account.model = Some(model.clone()),
        (Some(_), Some(_)) => account.has_several_models = true,
        _ => {}
    }
    let status = match (record.status.as_str(), record.error.kind.as_str()) {
        ("success", _) => return account.on_result(SessionStatus::Success, None),
        (_, "FatalTurnLimitedError") => SessionStatus::TurnLimit,
        _ => SessionStatus::Failed,
    };
    account.on_result(status, Some(&record.error.message));
}
