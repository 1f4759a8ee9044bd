//! Parses Claude Code's records into the state of a session. Takes one line at a time, keeps a
//! bounded amount of data, and reports activity for display. It draws no conclusions:
//! [`outcome`](super::outcome) determines how the session ended.

use std::collections::BTreeMap;
use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, ToolCall, Usage};
use selvedge_core::price::PriceTable;

use super::record::{ClaudeMessage, ClaudeRecord, ClaudeResultRecord, tool_result_text};
use crate::activity::Activity;
use crate::agents::final_message::{reason_from_text, truncate_to_tail};
use crate::agents::jsonl::tool_call_from_input;

/// Maximum messages whose usage is stored separately, so that a repeated message is not counted
/// twice.
const MAX_TRACKED_MESSAGES: usize = 1_000;
/// Maximum tools running at the same time.
const MAX_RUNNING_TOOLS: usize = 1_000;
/// Model name in messages that the program itself wrote.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// The state of a session so far.
#[derive(Debug, Default)]
pub(in crate::agents) struct ClaudeSessionParser {
    /// The program's id of the session.
    pub(super) session_id: Option<String>,
    /// The model that the program announced, and the one that answered.
    announced_model: Option<String>,
    answering_model: Option<String>,
    /// The model's last text.
    pub(super) text: String,
    usage: UsageByMessage,
    running: BTreeMap<String, ToolCall>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) tool_calls: u32,
    pub(super) tool_errors: u32,
    pub(super) api_retries: u32,
    /// Retries since the model's last answer: those of the failed request, if one failed.
    pub(super) retries_since_answer: u32,
    /// The API's failure, as named by the program.
    pub(super) api_error: Option<String>,
    pub(super) ending: Option<ClaudeResultRecord>,
    /// When the last record was read.
    pub(super) ended_at: Option<Instant>,
    pub(super) unknown_records: u32,
}

impl ClaudeSessionParser {
    /// Parses one line; reports activity to `told`.
    pub(in crate::agents) fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let Ok(record) = serde_json::from_str::<ClaudeRecord<'_>>(text) else {
            return self.unknown();
        };
        if let Some(id) = &record.session_id {
            self.session_id = Some(id.clone());
        }
        match (record.kind.as_deref(), record.subtype.as_deref()) {
            (Some("system"), Some("init")) => self.announced_model = record.model,
            (Some("system"), Some("api_retry")) => self.on_api_retry(&record, told),
            (Some("assistant"), _) => self.on_assistant_message(record, told),
            (Some("user"), _) => self.on_tool_results(&record.message, told),
            (Some("result"), _) => self.on_result(text, told),
            // Known records that are not needed.
            (Some("system" | "stream_event" | "rate_limit_event" | "tool_progress"), _) => {}
            _ => self.unknown(),
        }
    }

    /// Counts a line that was too long to be kept.
    pub(in crate::agents) fn unknown(&mut self) {
        self.unknown_records = self.unknown_records.saturating_add(1);
    }

    /// Whether the session's last record was read.
    pub(in crate::agents) fn has_ended(&self) -> bool {
        self.ending.is_some()
    }

    /// The model that answered, otherwise the announced one.
    pub(super) fn model(&self) -> Option<String> {
        self.answering_model
            .clone()
            .or_else(|| self.announced_model.clone())
    }

    /// Estimated cost of the messages so far by the price table, assuming that all are from the
    /// same model.
    pub(super) fn estimate_cost(&self) -> Option<MicroUsd> {
        // Unreported tokens may have been paid for: without tokens there is no estimate.
        let usage = Some(self.usage()).filter(|usage| usage.total() > 0)?;
        PriceTable::built_in().cost(&self.model()?, &usage)
    }

    /// The sum over all messages, each counted once.
    pub(super) fn usage(&self) -> Usage {
        self.usage.total()
    }

    fn on_api_retry(&mut self, record: &ClaudeRecord<'_>, told: &mut dyn FnMut(Activity)) {
        self.api_retries = self.api_retries.saturating_add(1);
        self.retries_since_answer = self.retries_since_answer.saturating_add(1);
        let kind = record.error.as_deref().unwrap_or("error").replace('_', " ");
        told(Activity::ApiRetry {
            attempt: record.attempt,
            max: record.max_retries,
            delay_ms: whole_millis(record.retry_delay_ms),
            reason: match record.error_status {
                Some(status) => format!("{status} {kind}"),
                None => kind,
            },
        });
    }

    fn on_assistant_message(&mut self, record: ClaudeRecord<'_>, told: &mut dyn FnMut(Activity)) {
        let message = record.message;
        let is_synthetic = message.model.as_deref() == Some(SYNTHETIC_MODEL);
        let is_main = record.parent_tool_use_id.is_none();
        if is_synthetic {
            self.api_error = record.error.or_else(|| self.api_error.take());
        } else {
            self.retries_since_answer = 0;
            self.usage.record(
                message.id,
                message.usage.map(Usage::from).unwrap_or_default(),
            );
            if is_main {
                self.answering_model = message.model.or_else(|| self.answering_model.take());
            }
            if let Some(cost) = self.estimate_cost() {
                told(Activity::Cost(Cost::estimated(cost)));
            }
        }
        for block in message.content {
            match block.kind.as_deref() {
                Some("text") if is_main && !block.text.trim().is_empty() => {
                    self.text = truncate_to_tail(&block.text);
                    told(if is_synthetic {
                        Activity::Note(block.text)
                    } else {
                        Activity::Text(block.text)
                    });
                }
                Some("tool_use") => {
                    self.tool_calls = self.tool_calls.saturating_add(1);
                    let call = tool_call_from_input(&block.name, block.input);
                    told(Activity::ToolStarted {
                        name: call.name.clone(),
                        subject: call.subject.clone(),
                    });
                    if self.running.len() < MAX_RUNNING_TOOLS {
                        self.running.insert(block.id, call);
                    }
                }
                _ => {}
            }
        }
    }

    fn on_tool_results(&mut self, message: &ClaudeMessage<'_>, told: &mut dyn FnMut(Activity)) {
        for block in &message.content {
            if block.kind.as_deref() == Some("tool_result") {
                self.tool_errors = self.tool_errors.saturating_add(u32::from(block.is_error));
                let call = self.running.remove(&block.tool_use_id).unwrap_or_default();
                told(Activity::ToolEnded {
                    name: call.name.clone(),
                    ok: !block.is_error,
                });
                let error = block
                    .is_error
                    .then(|| reason_from_text(&tool_result_text(block.content)));
                ToolCall { error, ..call }.add(&mut self.calls);
            }
        }
    }

    /// If there are several result records, the last one counts.
    fn on_result(&mut self, line: &str, told: &mut dyn FnMut(Activity)) {
        let Ok(ending) = serde_json::from_str::<ClaudeResultRecord>(line) else {
            return self.unknown();
        };
        // The time is taken before the result is reported, which may cause the session to be
        // stopped.
        self.ended_at = Some(Instant::now());
        if let Some(cost) = ending.total_cost_usd.and_then(MicroUsd::from_usd) {
            told(Activity::Cost(Cost::reported(cost)));
        }
        if !ending.permission_denials.is_empty() {
            let denied = ending.permission_denials.len();
            told(Activity::Note(format!(
                "the agent's permission rules denied {denied} tool call(s)"
            )));
        }
        self.ending = Some(ending);
    }
}

/// Usage by message: there is one record for each block of a message, all with the same usage.
#[derive(Debug, Default)]
struct UsageByMessage {
    recent: BTreeMap<String, Usage>,
    settled: Usage,
}

impl UsageByMessage {
    fn record(&mut self, id: Option<String>, usage: Usage) {
        let Some(id) = id else {
            self.settled = self.settled + usage;
            return;
        };
        if self.recent.len() >= MAX_TRACKED_MESSAGES && !self.recent.contains_key(&id) {
            self.settled = self.total();
            self.recent.clear();
        }
        let known = self.recent.entry(id).or_default();
        *known = Usage {
            input: known.input.max(usage.input),
            output: known.output.max(usage.output),
            cache_read: known.cache_read.max(usage.cache_read),
            cache_write: known.cache_write.max(usage.cache_write),
        };
    }

    fn total(&self) -> Usage {
        self.recent
            .values()
            .fold(self.settled, |sum, &usage| sum + usage)
    }
}

fn whole_millis(millis: f64) -> u64 {
    let delay = std::time::Duration::try_from_secs_f64(millis / 1e3).unwrap_or_default();
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
