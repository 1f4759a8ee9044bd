//! The outcome of a Claude Code session: its status, tokens and cost from its last record.

use std::time::Instant;

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus, Usage};
use selvedge_core::price::PriceTable;

use super::record::ClaudeResultRecord;
use super::session_parser::ClaudeSessionParser;
use crate::agents::final_message::{reason_from_text, truncate_to_tail};
use crate::agents::jsonl::resolve_status;
use crate::agents::retry::{is_transient, is_transient_message};

/// The outcome of a session. `by_exit` is derived from the program's exit and used if the records
/// are missing or report only an interruption; `stopped_at` is when we interrupted it.
pub(super) fn session_outcome(
    reading: &ClaudeSessionParser,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> SessionOutcome {
    let told = reading.ending.as_ref();
    let ending = told.map(|ending| {
        let status = session_status(ending);
        let at = reading.ended_at.unwrap_or_else(Instant::now);
        (status, error_message(status, ending), at)
    });
    let (status, error) = resolve_status(ending, by_exit, stopped_at);
    let text = told
        .and_then(|ending| ending.result.as_deref())
        .filter(|text| !text.is_empty());
    SessionOutcome {
        error,
        text: text.map_or_else(|| reading.text.clone(), truncate_to_tail),
        model: reading.model(),
        usage: total_usage(reading),
        cost: session_cost(reading),
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

/// Whether the session failed for a transient reason, so that a retry may help.
pub(super) fn is_transient_failure(reading: &ClaudeSessionParser) -> bool {
    let Some(ending) = &reading.ending else {
        return false;
    };
    if ending.is_error != Some(true) || session_status(ending) != SessionStatus::Failed {
        return false;
    }
    match (ending.api_error_status, reading.api_error.as_deref()) {
        (Some(status), _) => is_transient(status),
        (None, Some("server_error" | "rate_limit" | "overloaded")) => true,
        (None, _) => ending.result.as_deref().is_some_and(is_transient_message),
    }
}

/// Tokens and cost so far.
pub(super) fn usage_so_far(reading: &ClaudeSessionParser) -> (u64, MicroUsd) {
    (
        total_usage(reading).total(),
        session_cost(reading).at_least(),
    )
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

fn error_message(status: SessionStatus, ending: &ClaudeResultRecord) -> Option<String> {
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
        |text| reason_from_text(text),
    ))
}

/// Usage by model, since that includes side calls; otherwise that of the main loop; otherwise
/// summed over messages.
fn total_usage(reading: &ClaudeSessionParser) -> Usage {
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

fn session_cost(reading: &ClaudeSessionParser) -> Cost {
    let ending = reading.ending.as_ref();
    let total = ending
        .and_then(|ending| ending.total_cost_usd)
        .and_then(MicroUsd::from_usd);
    let by_model = || {
        let models = ending
            .map(|ending| ending.by_model.values())
            .into_iter()
            .flatten();
        let costs: Option<Vec<_>> = models.map(super::record::ClaudeModelTokens::cost).collect();
        costs
            .filter(|costs| !costs.is_empty())
            .map(|costs| costs.into_iter().sum())
    };
    if let Some(reported) = total.or_else(by_model) {
        return Cost::reported(reported);
    }
    estimate_cost(reading).map_or(Cost::UNKNOWN, Cost::estimated)
}

fn estimate_cost(reading: &ClaudeSessionParser) -> Option<MicroUsd> {
    let prices = PriceTable::built_in();
    let by_model = reading.ending.as_ref().map(|ending| &ending.by_model);
    match by_model.filter(|models| !models.is_empty()) {
        Some(models) => models
            .iter()
            .map(|(name, tokens)| prices.cost(name, &tokens.usage()))
            .sum(),
        // Unreported tokens may have been paid for: without tokens there is no estimate.
        None => Some(total_usage(reading))
            .filter(|usage| usage.total() > 0)
            .and_then(|usage| prices.cost(&reading.model()?, &usage)),
    }
}
