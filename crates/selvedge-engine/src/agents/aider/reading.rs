//! What aider's logs say of a session: every message that was sent must have been answered, and the
//! last thing that it did was to end. Never believed beyond that: it ends the same way when its edits
//! did not apply.

use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus, Usage};
use serde::Deserialize;

use crate::activity::Activity;
use crate::agents::SessionRequest;
use crate::agents::claim::{bounded, reason};
use crate::agents::records::{self, lenient, settle, show, told_in};

/// How it says in its text that it asks again.
const AGAIN: (&str, &str) = ("Retrying in ", " seconds...");
/// How the errors of the library that speaks to models begin.
const TROUBLE: &str = "litellm.";

/// What is heard of a session while it lasts.
#[derive(Debug, Default)]
pub(in crate::agents) struct Reading {
    api_retries: u32,
    trouble: Option<String>,
    too_long: u32,
}

/// The log of its analytics, added up.
#[derive(Debug, Default, PartialEq)]
struct Ledger {
    sent: u32,
    answered: u32,
    usage: Usage,
    usd: f64,
    has_ended: bool,
    unknown: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(deserialize_with = "lenient")]
    event: String,
    #[serde(deserialize_with = "lenient")]
    properties: Properties,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(deserialize_with = "lenient")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    completion_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    total_cost: f64,
    #[serde(deserialize_with = "lenient")]
    reason: String,
}

impl Ledger {
    fn read(text: &str) -> Self {
        let mut ledger = Self::default();
        for line in text.lines() {
            match serde_json::from_str::<Record>(line) {
                Ok(record) => ledger.take(record),
                Err(_) => ledger.unknown = ledger.unknown.saturating_add(1),
            }
        }
        ledger
    }

    fn take(&mut self, Record { event, properties }: Record) {
        match event.as_str() {
            "message_send_starting" => self.sent = self.sent.saturating_add(1),
            "message_send" => {
                self.answered = self.answered.saturating_add(1);
                self.usage = self.usage
                    + Usage {
                        input: properties.prompt_tokens,
                        output: properties.completion_tokens,
                        ..Usage::default()
                    };
                self.usd = properties.total_cost;
            }
            "exit" => self.has_ended = properties.reason.starts_with("Completed"),
            // What it tells its makers of besides is no concern of ours.
            _ => {}
        }
    }
}

impl records::Reading for Reading {
    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.starts_with(TROUBLE) {
            self.trouble = Some(reason(text));
        }
        if text.starts_with(AGAIN.0) && text.ends_with(AGAIN.1) {
            self.api_retries = self.api_retries.saturating_add(1);
        }
        show(line, told);
    }

    fn unknown(&mut self) {
        self.too_long = self.too_long.saturating_add(1);
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let ledger = told_in(&super::ledger(request)).unwrap_or_default();
        let ledger = Ledger::read(&ledger);
        // When it said so is not known: a stop may have come first.
        let has_ended = ledger.has_ended && stopped_at.is_none();
        let ending = has_ended.then(|| self.ending(&ledger));
        let (status, error) = settle(ending, by_exit, stopped_at);
        let chat = told_in(&super::chat(request)).unwrap_or_default();
        SessionOutcome {
            error,
            text: bounded(last_answer(&chat).trim()),
            usage: ledger.usage,
            cost: cost(&ledger, request),
            model: request.agent.model.clone(),
            turns: Some(ledger.answered),
            api_retries: self.api_retries,
            unknown_records: ledger.unknown.saturating_add(self.too_long),
            ..SessionOutcome::new(status)
        }
    }

    fn asked_in_vain(&self) -> Option<u32> {
        None
    }
}

impl Reading {
    fn ending(&self, ledger: &Ledger) -> (SessionStatus, Option<String>, Instant) {
        let now = Instant::now();
        if ledger.answered > 0 && ledger.answered >= ledger.sent {
            return (SessionStatus::Success, None, now);
        }
        let error = self.trouble.clone();
        let error = error.unwrap_or_else(|| "the model did not answer".to_owned());
        (SessionStatus::Failed, Some(error), now)
    }
}

/// Its own sum, by a list of prices that it brings; of a model that is not there it says nothing.
fn cost(ledger: &Ledger, request: &SessionRequest) -> Cost {
    if let Some(told) = MicroUsd::from_usd(ledger.usd).filter(|cost| cost.0 > 0) {
        return Cost::reported(told);
    }
    if ledger.usage.total() == 0 {
        return Cost::UNKNOWN;
    }
    let model = request.agent.model.as_deref();
    let price = model.and_then(|model| request.agent.cost_of(model, &ledger.usage));
    price.map_or(Cost::UNKNOWN, Cost::estimated)
}

/// What the model said last: in the chat what it was told stands behind `####`, and what aider itself
/// says behind `>`.
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
