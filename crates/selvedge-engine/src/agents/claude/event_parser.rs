//! Interprets Claude Code's records: messages of the model, one record for each block; results of
//! its tools; its own API retries; and one result at the end. Qwen Code prints the same records.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_core::model::{Cost, MicroUsd, SessionStatus, Timestamp, Usage};
use selvedge_core::price::PriceTable;

use super::record::{
    ClaudeMessage, ClaudeModelTokens, ClaudeRecord, ClaudeResultRecord, tool_result_text,
};
use crate::agents::jsonl::{EventParser, SessionState, tool_call_from_input};
use crate::agents::retry::{is_transient, is_transient_message};

/// Maximum messages whose usage is stored separately, so that a repeated message is not counted
/// twice.
const MAX_TRACKED_MESSAGES: usize = 1_000;
/// Model name in messages that the program itself wrote.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Parser of Claude Code's records. Those of Qwen Code differ in that the input includes cached
/// tokens and that it silently retries its API itself.
#[derive(Debug, Default)]
pub(in crate::agents) struct ClaudeEventParser<const IS_QWEN: bool = false> {
    usage: UsageByMessage,
    /// The API's failure, as named by the program.
    api_error: Option<String>,
    /// Whether the main model has answered, so that its exact name is known.
    has_model_answered: bool,
    /// Whether the session ended because of a transient API failure.
    is_transient: bool,
}

impl<const IS_QWEN: bool> EventParser for ClaudeEventParser<IS_QWEN> {
    const RETRIES_ITSELF: bool = IS_QWEN;

    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<ClaudeRecord<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id.clone_from(&record.session_id);
        }
        match (record.kind.as_deref(), record.subtype.as_deref()) {
            // The model that answered has precedence.
            (Some("system"), Some("init")) => {
                account.model = account.model.take().or(record.model);
            }
            (Some("system"), Some("api_retry")) => on_api_retry(&record, account),
            (Some("assistant"), _) => self.on_assistant_message(record, account),
            (Some("user"), _) => on_tool_results(&record.message, account),
            (Some("result"), _) => return self.on_result(line, account),
            (Some("rate_limit_event"), _) => {
                let limit = record.rate_limit_info;
                let resets_at = limit.resets_at.filter(|_| limit.status == "rejected");
                account.limit_resets_at =
                    resets_at.and_then(|seconds| Timestamp::from_second(seconds).ok());
            }
            // Known records that are not needed.
            (Some("system" | "stream_event" | "tool_progress"), _) => {}
            _ => return false,
        }
        true
    }

    fn is_transient_error(&self, _: &str) -> bool {
        self.is_transient
    }
}

impl<const IS_QWEN: bool> ClaudeEventParser<IS_QWEN> {
    fn on_assistant_message(&mut self, record: ClaudeRecord<'_>, account: &mut SessionState) {
        let message = record.message;
        let is_synthetic = message.model.as_deref() == Some(SYNTHETIC_MODEL);
        let is_main = record.parent_tool_use_id.is_none();
        if is_synthetic {
            self.api_error = record.error.or_else(|| self.api_error.take());
        } else {
            account.on_answer();
            let usage = message.usage.map(Usage::from).unwrap_or_default();
            self.usage.record(message.id, usage);
            account.usage = Self::without_cached_input(self.usage.total());
            let models = account.model.as_deref().zip(message.model.as_deref());
            // A sub-agent may use another model. The model in the first record is an alias.
            account.has_several_models |= self.has_model_answered
                && usage.total() > 0
                && models.is_some_and(|(before, now)| before != now);
            self.has_model_answered |= is_main;
            if is_main {
                account.model = message.model.or_else(|| account.model.take());
            }
            report_estimated_cost(account);
        }
        for block in message.content {
            match block.kind.as_deref() {
                Some("text") if is_main && is_synthetic => {
                    account.set_text(&block.text);
                    account.on_note(&block.text);
                }
                Some("text") if is_main => account.on_text(&block.text),
                Some("tool_use") => {
                    account
                        .on_tool_start(&block.id, tool_call_from_input(&block.name, block.input));
                }
                _ => {}
            }
        }
    }

    /// If there are several result records, the last one counts.
    fn on_result(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(ending) = serde_json::from_str::<ClaudeResultRecord>(line) else {
            return false;
        };
        let status = session_status(&ending);
        let error = error_message(&ending).filter(|_| status != SessionStatus::Success);
        account.on_result(status, error);
        self.is_transient = self.is_transient_failure(&ending);
        account.turns = ending.num_turns;
        if let Some(text) = ending.result.as_deref() {
            account.set_text(text);
        }
        let usage = reported_usage(&ending).unwrap_or_else(|| self.usage.total());
        account.usage = Self::without_cached_input(usage);
        account.cost = reported_cost(&ending);
        if let Some(cost) = account.cost {
            account.on_cost(Cost::reported(cost));
        }
        if !ending.permission_denials.is_empty() {
            let denied = ending.permission_denials.len();
            account.on_note(&format!(
                "the agent's permission rules denied {denied} tool call(s)"
            ));
        }
        account.has_several_models = ending.by_model.len() > 1;
        let mut models = ending.by_model.into_keys();
        account.model = account.model.take().or_else(|| models.next());
        true
    }

    fn is_transient_failure(&self, ending: &ClaudeResultRecord) -> bool {
        ending.is_error == Some(true)
            && match (ending.api_error_status, self.api_error.as_deref()) {
                (Some(status), _) => is_transient(status),
                (None, Some("server_error" | "rate_limit" | "overloaded")) => true,
                (None, _) => ending.result.as_deref().is_some_and(is_transient_message),
            }
    }

    fn without_cached_input(usage: Usage) -> Usage {
        let cached = if IS_QWEN { usage.cache_read } else { 0 };
        Usage {
            input: usage.input.saturating_sub(cached),
            ..usage
        }
    }
}

fn on_api_retry(record: &ClaudeRecord<'_>, account: &mut SessionState) {
    let kind = record.error.as_deref().unwrap_or("error").replace('_', " ");
    let why = match record.error_status {
        Some(status) => format!("{status} {kind}"),
        None => kind,
    };
    let delay = Duration::try_from_secs_f64(record.retry_delay_ms / 1e3).unwrap_or_default();
    account.on_api_retry(record.attempt, record.max_retries, delay, &why);
}

fn on_tool_results(message: &ClaudeMessage<'_>, account: &mut SessionState) {
    for block in &message.content {
        if block.kind.as_deref() == Some("tool_result") {
            let error = block.is_error.then(|| tool_result_text(block.content));
            account.on_tool_end(&block.tool_use_id, error.as_deref());
        }
    }
}

/// Shows the cost of the messages so far by the price table, if all are from the same model.
fn report_estimated_cost(account: &mut SessionState) {
    let usage = Some(account.usage).filter(|usage| usage.total() > 0);
    let usage = usage.filter(|_| !account.has_several_models);
    let model = account.model.as_deref();
    let cost = model
        .zip(usage)
        .and_then(|(model, usage)| PriceTable::built_in().cost(model, &usage));
    if let Some(cost) = cost {
        account.on_cost(Cost::estimated(cost));
    }
}

fn session_status(ending: &ClaudeResultRecord) -> SessionStatus {
    match (ending.subtype.as_deref(), ending.is_error) {
        (Some("error_max_turns"), _) => SessionStatus::TurnLimit,
        (Some("error_max_budget_usd"), _) => SessionStatus::Budget,
        // API failures end with `success` and `is_error`: both must agree. A compatible agent may
        // omit the subtype.
        (Some("success"), Some(false) | None) | (None, Some(false)) => SessionStatus::Success,
        _ => SessionStatus::Failed,
    }
}

fn error_message(ending: &ClaudeResultRecord) -> Option<&str> {
    let texts = ending.errors.iter().chain(&ending.result);
    let texts = texts.chain([&ending.error.message]).chain(&ending.subtype);
    texts
        .map(String::as_str)
        .find(|text| !text.trim().is_empty())
}

/// Usage by model, since that includes side calls; otherwise that of the main loop.
fn reported_usage(ending: &ClaudeResultRecord) -> Option<Usage> {
    let by_model = ending.by_model.values().map(ClaudeModelTokens::usage);
    let by_model = by_model.fold(Usage::default(), |sum, usage| sum + usage);
    let candidates = [Some(by_model), ending.usage.map(Usage::from)];
    candidates
        .into_iter()
        .flatten()
        .find(|usage| usage.total() > 0)
}

fn reported_cost(ending: &ClaudeResultRecord) -> Option<MicroUsd> {
    let total = ending.total_cost_usd.and_then(MicroUsd::from_usd);
    total.or_else(|| {
        let costs = ending.by_model.values().map(ClaudeModelTokens::cost);
        costs
            .sum::<Option<MicroUsd>>()
            .filter(|_| !ending.by_model.is_empty())
    })
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
        let recorded = self.recent.entry(id).or_default();
        *recorded = recorded.max(usage);
    }

    fn total(&self) -> Usage {
        self.recent
            .values()
            .fold(self.settled, |sum, &usage| sum + usage)
    }
}
