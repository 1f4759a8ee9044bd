//! What a session of Claude Code came to: what its last record says of its end, its tokens and what
//! they cost.

use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus, Usage};
use selvedge_core::price::PriceTable;

use super::reading::Reading;
use super::record::Ending;
use crate::agents::claim::{bounded, reason};
use crate::agents::records::settle;
use crate::agents::retry::{is_transient, may_pass};

/// What a session came to. `by_exit` is what the program's end says, for when the records are
/// silent or say only that the session was broken off; `stopped_at` is when we broke it off.
pub(super) fn outcome(
    reading: &Reading,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> SessionOutcome {
    let told = reading.ending.as_ref();
    let ending = told.map(|ending| {
        let status = status(ending);
        let at = reading.ended_at.unwrap_or_else(Instant::now);
        (status, error(status, ending), at)
    });
    let (status, error) = settle(ending, by_exit, stopped_at);
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
        (None, _) => ending.result.as_deref().is_some_and(may_pass),
    }
}

/// Tokens and money so far.
pub(super) fn spent(reading: &Reading) -> (u64, MicroUsd) {
    (usage(reading).total(), cost(reading).at_least())
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
        .chain([&ending.error.message])
        .find(|text| !text.trim().is_empty());
    Some(said.map_or_else(
        || ending.subtype.clone().unwrap_or_default(),
        |text| reason(text),
    ))
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
