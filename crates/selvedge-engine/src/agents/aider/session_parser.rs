//! Parses aider's logs of a session: every message that was sent must have been answered, and the
//! last event must be the exit. That proves nothing more: the session ends the same way if its
//! edits could not be applied.

use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus, Usage};
use serde::Deserialize;

use crate::activity::Activity;
use crate::agents::SessionRequest;
use crate::agents::final_message::{reason_from_text, truncate_to_tail};
use crate::agents::jsonl::{
    self, emit_line, lenient, read_session_file, reported_or_estimated_cost, resolve_status,
};

/// Marks a retry in aider's text output.
const RETRY_MARKER: (&str, &str) = ("Retrying in ", " seconds...");
/// Prefix of the errors of the library that calls models.
const API_ERROR_MARKERS: &str = "litellm.";

/// State parsed from the output while the session runs.
#[derive(Debug, Default)]
pub(in crate::agents) struct AiderSessionParser {
    api_retries: u32,
    api_error: Option<String>,
    oversized_lines: u32,
}

/// Totals of the analytics log.
#[derive(Debug, Default, PartialEq)]
struct AnalyticsTotals {
    requests_sent: u32,
    requests_answered: u32,
    usage: Usage,
    usd: f64,
    has_ended: bool,
    unknown_records: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnalyticsRecord {
    #[serde(deserialize_with = "lenient")]
    event: String,
    #[serde(deserialize_with = "lenient")]
    properties: AnalyticsProperties,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnalyticsProperties {
    #[serde(deserialize_with = "lenient")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    completion_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    total_cost: f64,
    #[serde(deserialize_with = "lenient")]
    reason: String,
}

impl AnalyticsTotals {
    fn parse(text: &str) -> Self {
        let mut ledger = Self::default();
        for line in text.lines() {
            match serde_json::from_str::<AnalyticsRecord>(line) {
                Ok(record) => ledger.add_record(record),
                Err(_) => ledger.unknown_records = ledger.unknown_records.saturating_add(1),
            }
        }
        ledger
    }

    fn add_record(&mut self, AnalyticsRecord { event, properties }: AnalyticsRecord) {
        match event.as_str() {
            "message_send_starting" => self.requests_sent = self.requests_sent.saturating_add(1),
            "message_send" => {
                self.requests_answered = self.requests_answered.saturating_add(1);
                self.usage = self.usage
                    + Usage {
                        input: properties.prompt_tokens,
                        output: properties.completion_tokens,
                        ..Usage::default()
                    };
                self.usd = properties.total_cost;
            }
            "exit" => self.has_ended = properties.reason.starts_with("Completed"),
            // Other analytics events are not needed.
            _ => {}
        }
    }
}

impl jsonl::SessionParser for AiderSessionParser {
    fn parse_line(&mut self, line: &[u8], emit: &mut dyn FnMut(Activity)) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.starts_with(API_ERROR_MARKERS) {
            self.api_error = Some(reason_from_text(text));
        }
        if text.starts_with(RETRY_MARKER.0) && text.ends_with(RETRY_MARKER.1) {
            self.api_retries = self.api_retries.saturating_add(1);
        }
        emit_line(line, emit);
    }

    fn count_unknown(&mut self) {
        self.oversized_lines = self.oversized_lines.saturating_add(1);
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let ledger = read_session_file(&super::analytics_file(request)).unwrap_or_default();
        let ledger = AnalyticsTotals::parse(&ledger);
        // The time of that event is not known: a stop may have come first.
        let has_ended = ledger.has_ended && stopped_at.is_none();
        let ending = has_ended.then(|| self.end_status(&ledger));
        let (status, error) = resolve_status(ending, by_exit, stopped_at);
        let chat = read_session_file(&super::chat_history_file(request)).unwrap_or_default();
        SessionOutcome {
            error,
            text: truncate_to_tail(last_answer(&chat).trim()),
            usage: ledger.usage,
            cost: cost(&ledger, request),
            model: request.agent.model.clone(),
            turns: Some(ledger.requests_answered),
            api_retries: self.api_retries,
            unknown_records: ledger.unknown_records.saturating_add(self.oversized_lines),
            ..SessionOutcome::new(status)
        }
    }
}

impl AiderSessionParser {
    fn end_status(&self, ledger: &AnalyticsTotals) -> (SessionStatus, Option<String>, Instant) {
        let now = Instant::now();
        if ledger.requests_answered > 0 && ledger.requests_answered >= ledger.requests_sent {
            return (SessionStatus::Success, None, now);
        }
        let error = self.api_error.clone();
        let error = error.unwrap_or_else(|| "the model did not answer".to_owned());
        (SessionStatus::Failed, Some(error), now)
    }
}

/// aider's own sum, from its own price list; it reports no cost for a model that is not in the
/// list.
fn cost(ledger: &AnalyticsTotals, request: &SessionRequest) -> Cost {
    let reported = MicroUsd::from_usd(ledger.usd).filter(|cost| cost.0 > 0);
    let model = request.agent.model.as_deref();
    reported_or_estimated_cost(reported, &ledger.usage, model, &request.agent)
}

/// The model's last answer: in the chat, `####` precedes prompts and `>` aider's own output.
fn last_answer(chat: &str) -> String {
    let mut answer = Vec::new();
    for line in chat.lines() {
        if line.starts_with("#### ") {
            answer.clear();
        } else if !line.starts_with("> ") {
            answer.push(line);
        }
    }
    answer.join("\n")
}
