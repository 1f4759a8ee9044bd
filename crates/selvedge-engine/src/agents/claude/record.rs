//! A line of Claude Code's stream-json: the fields that are used. The format grows from release to
//! release (one record went from 26 to 103 fields within 160 patch releases), so any field may be
//! missing or of another type without affecting the others, and unknown fields are skipped without
//! being stored.

use std::collections::BTreeMap;

use selvedge_core::model::{MicroUsd, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::agents::jsonl::{ErrorMessage, lenient};

/// A record of any type except `result`: the used fields of all types.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    /// `system`/`init`.
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    /// `assistant` and `user`.
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) message: ClaudeMessage<'a>,
    /// Set on messages of a sub-agent.
    #[serde(deserialize_with = "lenient")]
    pub(super) parent_tool_use_id: Option<String>,
    /// `system`/`api_retry`; also `assistant` if the program itself wrote the message.
    #[serde(deserialize_with = "lenient")]
    pub(super) error: Option<String>,
    /// `system`/`api_retry`.
    #[serde(deserialize_with = "lenient")]
    pub(super) attempt: u32,
    /// `system`/`api_retry`.
    #[serde(deserialize_with = "lenient")]
    pub(super) max_retries: u32,
    /// `system`/`api_retry`: milliseconds, with fractions.
    #[serde(deserialize_with = "lenient")]
    pub(super) retry_delay_ms: f64,
    /// `system`/`api_retry`: the HTTP status.
    #[serde(deserialize_with = "lenient")]
    pub(super) error_status: Option<u16>,
    /// `rate_limit_event`.
    #[serde(deserialize_with = "lenient")]
    pub(super) rate_limit_info: ClaudeRateLimit,
}

/// The state of the subscription's limits.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClaudeRateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    /// In seconds since 1970.
    #[serde(deserialize_with = "lenient")]
    pub(super) resets_at: Option<i64>,
}

/// A message of the model, or the results of its tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeMessage<'a> {
    #[serde(deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) content: Vec<ClaudeContentBlock<'a>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) usage: Option<ClaudeTokens>,
}

/// One block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeContentBlock<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(super) kind: Option<String>,
    /// `text`.
    #[serde(deserialize_with = "lenient")]
    pub(super) text: String,
    /// `tool_use`.
    #[serde(deserialize_with = "lenient")]
    pub(super) id: String,
    /// `tool_use`.
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    /// `tool_use`: the tool's arguments, possibly a whole file.
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    /// `tool_result`.
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_use_id: String,
    /// `tool_result`.
    #[serde(deserialize_with = "lenient")]
    pub(super) is_error: bool,
    /// `tool_result`: a text, or blocks of text.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

/// The record that ends a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeResultRecord {
    #[serde(deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) api_error_status: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub(super) num_turns: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    pub(super) result: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) errors: Vec<String>,
    /// The error message of a compatible agent.
    #[serde(deserialize_with = "lenient")]
    pub(super) error: ErrorMessage,
    #[serde(deserialize_with = "lenient")]
    pub(super) total_cost_usd: Option<f64>,
    /// The main loop's tokens only.
    #[serde(deserialize_with = "lenient")]
    pub(super) usage: Option<ClaudeTokens>,
    /// Tokens of all models, side calls included.
    #[serde(rename = "modelUsage", deserialize_with = "lenient")]
    pub(super) by_model: BTreeMap<String, ClaudeModelTokens>,
    #[serde(deserialize_with = "lenient")]
    pub(super) permission_denials: Vec<IgnoredAny>,
}

/// Tokens as the API counts them.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "these are the API's names")]
pub(super) struct ClaudeTokens {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_creation_input_tokens: u64,
}

/// One model's tokens as the program counts them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClaudeModelTokens {
    #[serde(deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD", deserialize_with = "lenient")]
    cost_usd: Option<f64>,
}

impl From<ClaudeTokens> for Usage {
    fn from(tokens: ClaudeTokens) -> Self {
        Self {
            input: tokens.input_tokens,
            output: tokens.output_tokens,
            cache_read: tokens.cache_read_input_tokens,
            cache_write: tokens.cache_creation_input_tokens,
        }
    }
}

impl ClaudeModelTokens {
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write: self.cache_creation_input_tokens,
        }
    }

    pub(super) fn cost(&self) -> Option<MicroUsd> {
        self.cost_usd.and_then(MicroUsd::from_usd)
    }
}

/// The text of a tool's result.
pub(super) fn tool_result_text(content: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ToolResultContent {
        Text(String),
        Blocks(Vec<ToolResultPart>),
    }
    #[derive(Deserialize)]
    struct ToolResultPart {
        #[serde(default)]
        text: String,
    }
    match content.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        Some(ToolResultContent::Text(text)) => text,
        Some(ToolResultContent::Blocks(parts)) => parts.into_iter().map(|part| part.text).collect(),
        None => String::new(),
    }
}
