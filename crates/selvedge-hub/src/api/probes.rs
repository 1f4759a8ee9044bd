//! Probes: liveness, readiness, and metrics in the Prometheus text format. The metrics come from the store,
//! so all hubs on one database return the same.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use selvedge_core::protocol::TaskState;

use super::views::{self, HubStats};
use crate::hub::Hub;
use crate::problem::ApiError;

pub(super) async fn liveness() -> &'static str {
    "ok\n"
}

pub(super) async fn readiness(State(hub): State<Arc<Hub>>) -> Result<&'static str, ApiError> {
    // A write that changes nothing: it shows that the writer and the database work.
    hub.store.touch_tokens(Vec::new()).await?;
    Ok("ready\n")
}

pub(super) async fn metrics(State(hub): State<Arc<Hub>>) -> Result<Response, ApiError> {
    let overview = hub.store.overview().await?;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = families(&mut text, &views::stats(&overview), &hub);
    let media = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media)], text).into_response())
}

fn families(text: &mut String, stats: &HubStats, hub: &Hub) -> std::fmt::Result {
    family(text, "selvedge_tasks", "gauge", "Tasks by state.")?;
    for (state, count) in &stats.states {
        writeln!(text, "selvedge_tasks{{state=\"{state}\"}} {count}")?;
    }
    family(
        text,
        "selvedge_task_outcomes_total",
        "counter",
        "Finished tasks by outcome.",
    )?;
    for (outcome, count) in &stats.outcomes {
        writeln!(
            text,
            "selvedge_task_outcomes_total{{outcome=\"{outcome}\"}} {count}"
        )?;
    }
    family(
        text,
        "selvedge_attempts_closed_total",
        "counter",
        "Finished attempts by how they ended.",
    )?;
    for (how, count) in &stats.closings {
        writeln!(
            text,
            "selvedge_attempts_closed_total{{closing=\"{how}\"}} {count}"
        )?;
    }
    histogram(text, stats)?;
    single(
        text,
        "selvedge_infra_losses_total",
        "counter",
        "Lost leases and infrastructure failures.",
        stats.infra_losses,
    )?;
    let retries = stats.closings.get("report").copied().unwrap_or(0);
    let over: u64 = stats.outcomes.values().sum();
    family(
        text,
        "selvedge_retries_total",
        "counter",
        "Attempts after the first of a task, by reason.",
    )?;
    let verification = retries.saturating_sub(over);
    writeln!(
        text,
        "selvedge_retries_total{{reason=\"verification\"}} {verification}"
    )?;
    let interrupted = stats.closings.get("interrupted").copied().unwrap_or(0);
    writeln!(
        text,
        "selvedge_retries_total{{reason=\"interrupted\"}} {interrupted}"
    )?;
    let micro_usd = stats.cost.micro_usd.map_or(0, |amount| amount.0);
    single(
        text,
        "selvedge_cost_micro_usd_total",
        "counter",
        "Known cost in millionths of a dollar.",
        micro_usd,
    )?;
    single(
        text,
        "selvedge_tokens_total",
        "counter",
        "Input and output tokens.",
        stats.tokens,
    )?;
    let held = [
        TaskState::Offered,
        TaskState::Running,
        TaskState::Cancelling,
    ];
    let leases = held
        .iter()
        .filter_map(|state| stats.states.get(state.as_str()))
        .sum();
    single(
        text,
        "selvedge_leases",
        "gauge",
        "Tasks held by a worker.",
        leases,
    )?;
    let connected = u64::try_from(hub.sessions.connected()).unwrap_or(u64::MAX);
    single(
        text,
        "selvedge_workers_connected",
        "gauge",
        "Workers connected to this hub.",
        connected,
    )
}

fn family(text: &mut String, name: &str, kind: &str, about: &str) -> std::fmt::Result {
    writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}")
}

fn single(text: &mut String, name: &str, kind: &str, about: &str, value: u64) -> std::fmt::Result {
    family(text, name, kind, about)?;
    writeln!(text, "{name} {value}")
}

/// Verified tasks by the number of their reports.
fn histogram(text: &mut String, stats: &HubStats) -> std::fmt::Result {
    let name = "selvedge_verified_after_attempts";
    family(
        text,
        name,
        "histogram",
        "Attempts needed by verified tasks.",
    )?;
    let (mut count, mut sum) = (0u64, 0u64);
    for bound in 1..=6u32 {
        count += stats.verified_after.get(&bound).copied().unwrap_or(0);
        writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {count}")?;
    }
    let all: u64 = stats.verified_after.values().sum();
    for (attempts, tasks) in &stats.verified_after {
        sum = sum.saturating_add(u64::from(*attempts) * tasks);
    }
    writeln!(
        text,
        "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum {sum}\n{name}_count {all}"
    )
}
