//! Gemini CLI's records: messages in pieces, tools by their ids, and one result.

use std::collections::BTreeMap;

use selvedge_core::model::{SessionStatus, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::records::{self, Account, call, lenient};

/// Whether the next piece of a message goes on with the one before.
#[derive(Debug, Default)]
pub(in crate::agents) struct Records {
    is_saying: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
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
    error: Said,
    /// `error`: a warning, not the end.
    #[serde(deserialize_with = "lenient")]
    message: String,
    /// `result`.
    #[serde(deserialize_with = "lenient")]
    stats: Stats,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    message: String,
}

/// Tokens of the whole session: cached ones are among the input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cached: u64,
    #[serde(deserialize_with = "lenient")]
    models: BTreeMap<String, OfModel>,
}

/// One model's share of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OfModel {
    #[serde(deserialize_with = "lenient")]
    total_tokens: u64,
}

impl records::Records for Records {
    const RETRIES_ITSELF: bool = true;

    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else {
            return false;
        };
        let was_saying = std::mem::take(&mut self.is_saying);
        match record.kind.as_deref() {
            Some("init") => {
                account.session_id = record.session_id;
                account.model = record.model;
            }
            Some("message") if record.role == "assistant" => {
                self.is_saying = true;
                if was_saying {
                    account.goes_on(&record.content);
                } else {
                    account.says(&record.content);
                }
            }
            // The prompt.
            Some("message") => {}
            Some("tool_use") => {
                account.calls(&record.tool_id, call(&record.tool_name, record.parameters));
            }
            Some("tool_result") => {
                let said = [record.error.message, record.output];
                let said = said.iter().find(|text| !text.is_empty());
                let failed = record.status == "error";
                let error = failed.then(|| said.map_or("failed", String::as_str));
                account.answered(&record.tool_id, error);
            }
            Some("error") => account.note(&record.message),
            Some("result") => result(&record, account),
            _ => return false,
        }
        true
    }
}

fn result(record: &Record<'_>, account: &mut Account) {
    let stats = &record.stats;
    account.usage = Usage {
        input: stats.input_tokens.saturating_sub(stats.cached),
        output: stats.output_tokens,
        cache_read: stats.cached,
        cache_write: 0,
    };
    // One that answered, where it is the only one: what several cost is not known from their sum.
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
        ("success", _) => return account.ends(SessionStatus::Success, None),
        (_, "FatalTurnLimitedError") => SessionStatus::TurnLimit,
        _ => SessionStatus::Failed,
    };
    account.ends(status, Some(&record.error.message));
}
