//! What a session of Claude Code came to: its own last record first, then how the program ended.
//!
//! The last record outranks the exit code, in both directions, and a stop that came after it: an
//! exit code of 0 proves nothing without it, and a session that has said `success` is not undone
//! by a clock that ran out while it was cleaning up. A record that came after our own signal ranks
//! below it: the program may say `success` of work that we have just broken off. What it says
//! about the work is not believed here or anywhere.

use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus, Usage};
use selvedge_core::price::PriceTable;

use super::reading::Reading;
use super::record::Ending;
use crate::agents::claim::{bounded, reason};
use crate::agents::retry::is_transient;

/// Words in the text of an API failure that bears no status, and that may pass by itself.
const PASSING_TROUBLE: &[&str] = &[
    "overloaded",
    "529",
    "at capacity",
    "rate limit",
    "timed out",
    "timeout",
    "connection error",
    "connection reset",
    "econnreset",
    "econnrefused",
    "epipe",
    "enotfound",
    "eai_again",
    "socket hang up",
    "fetch failed",
    "network error",
    "internal server error",
];

/// What a session came to. `by_exit` is what the program's end says, for when the records are
/// silent or say only that the session was broken off; `stopped_at` is when we broke it off.
pub(super) fn outcome(
    reading: &Reading,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> SessionOutcome {
    let told = reading.ending.as_ref();
    let (status, error) = match told.map(status) {
        // What failed was not the agent, and something of it may still be alive.
        _ if by_exit.status == SessionStatus::Infra => (by_exit.status, by_exit.error),
        None => without_result(by_exit),
        Some(status)
            if was_stopped(by_exit.status)
                && (status == SessionStatus::Failed || reading.ended_after(stopped_at)) =>
        {
            (by_exit.status, by_exit.error)
        }
        Some(status) => (status, told.and_then(|ending| error(status, ending))),
    };
    let text = told
        .and_then(|ending| ending.result.as_deref())
        .filter(|text| !text.is_empty());
    SessionOutcome {
        error,
        text: text.map_or_else(|| reading.text.clone(), bounded),
        model: reading.model(),
        usage: usage(reading),
        cost: cost(reading),
        session_id: reading.session_id.clone(),
        turns: told.and_then(|ending| ending.num_turns),
        tool_calls: reading.tool_calls,
        tool_errors: reading.tool_errors,
        calls: reading.calls.clone(),
        api_retries: reading.api_retries,
        unknown_records: reading.unknown_records,
        ..SessionOutcome::new(status)
    }
}

/// Whether the session failed for a reason that may pass by itself, so that asking again helps.
pub(super) fn is_passing(reading: &Reading) -> bool {
    let Some(ending) = &reading.ending else {
        return false;
    };
    if ending.is_error != Some(true) || status(ending) != SessionStatus::Failed {
        return false;
    }
    match (ending.api_error_status, reading.api_trouble.as_deref()) {
        (Some(status), _) => is_transient(status),
        (None, Some("server_error" | "rate_limit" | "overloaded")) => true,
        (None, _) => {
            let text = ending.result.as_deref().unwrap_or_default().to_lowercase();
            PASSING_TROUBLE.iter().any(|words| text.contains(words))
        }
    }
}

fn status(ending: &Ending) -> SessionStatus {
    match (ending.subtype.as_deref(), ending.is_error) {
        (Some("error_max_turns"), _) => SessionStatus::TurnLimit,
        (Some("error_max_budget_usd"), _) => SessionStatus::Budget,
        // Trouble with the API ends in `success` with `is_error`: both must agree. An agent that
        // is only like Claude Code may name no subtype.
        (Some("success"), Some(false) | None) | (None, Some(false)) => SessionStatus::Success,
        _ => SessionStatus::Failed,
    }
}

fn error(status: SessionStatus, ending: &Ending) -> Option<String> {
    if status == SessionStatus::Success {
        return None;
    }
    let said = ending
        .errors
        .iter()
        .chain(&ending.result)
        .find(|text| !text.trim().is_empty());
    Some(said.map_or_else(
        || ending.subtype.clone().unwrap_or_default(),
        |text| reason(text),
    ))
}

fn without_result(by_exit: SessionOutcome) -> (SessionStatus, Option<String>) {
    if by_exit.status == SessionStatus::Success {
        let error = "ended without saying how: no result record".to_owned();
        return (SessionStatus::Failed, Some(error));
    }
    (by_exit.status, by_exit.error)
}

fn was_stopped(status: SessionStatus) -> bool {
    matches!(status, SessionStatus::Timeout | SessionStatus::Cancelled)
}

/// By model, since that counts side calls too; else the main loop's; else message by message.
fn usage(reading: &Reading) -> Usage {
    let by_model = reading.ending.as_ref().map(|ending| {
        ending
            .by_model
            .values()
            .fold(Usage::default(), |sum, tokens| sum + tokens.usage())
    });
    let main_loop = reading
        .ending
        .as_ref()
        .and_then(|ending| ending.usage)
        .map(Usage::from);
    let told = [by_model, main_loop]
        .into_iter()
        .flatten()
        .find(|usage| usage.total() > 0);
    told.unwrap_or_else(|| reading.usage())
}

fn cost(reading: &Reading) -> Cost {
    let ending = reading.ending.as_ref();
    let total = ending
        .and_then(|ending| ending.total_cost_usd)
        .and_then(MicroUsd::from_usd);
    let by_model = || {
        let models = ending
            .map(|ending| ending.by_model.values())
            .into_iter()
            .flatten();
        let costs: Option<Vec<_>> = models.map(super::record::ModelTokens::cost).collect();
        costs
            .filter(|costs| !costs.is_empty())
            .map(|costs| costs.into_iter().sum())
    };
    if let Some(reported) = total.or_else(by_model) {
        return Cost::reported(reported);
    }
    estimate(reading).map_or(Cost::UNKNOWN, Cost::estimated)
}

fn estimate(reading: &Reading) -> Option<MicroUsd> {
    let prices = PriceTable::built_in();
    let by_model = reading.ending.as_ref().map(|ending| &ending.by_model);
    match by_model.filter(|models| !models.is_empty()) {
        Some(models) => models
            .iter()
            .map(|(name, tokens)| prices.cost(name, &tokens.usage()))
            .sum(),
        // Tokens may have been paid for that nobody told of: no tokens, no estimate.
        None => Some(usage(reading))
            .filter(|usage| usage.total() > 0)
            .and_then(|usage| prices.cost(&reading.model()?, &usage)),
    }
}
