//! Probes: liveness, readiness, and metrics in the Prometheus text format. Counters and gauges come from the store,
//! so all hubs on one database return the same; histograms are each hub's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use selvedge_core::model::Outcome;
use selvedge_protocol::TaskState;

use super::fleet;
use super::views::{self, HubStats};
use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::readiness;

pub(super) async fn liveness() -> &'static str {
    "ok\n"
}

pub(super) async fn readiness(State(hub): State<Arc<Hub>>) -> Result<&'static str, ApiError> {
    match readiness::check(&hub).await {
        // Everything else works without it: a hub that were taken out of service would also stop the runs of its workers.
        Ok(()) if !is_object_store_available(&hub).await => Ok(
            "ready, but the object store is unavailable: files of tasks can be neither stored nor read; the hub's log has \
             the reason\n",
        ),
        Ok(()) => Ok("ready\n"),
        // The reason may name paths and hosts, and the probe needs no token: it is in the hub's log.
        Err(_) => Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store",
            "the hub cannot write to its database; its log has the reason",
        )),
    }
}

/// Whether the object store works, if there is one.
async fn is_object_store_available(hub: &Hub) -> bool {
    match &hub.settings.objects {
        Some(objects) => objects.is_available().await,
        None => true,
    }
}

pub(super) async fn metrics(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, ApiError> {
    // They are those of all projects.
    if !caller.is_of_default_project() {
        return Err(ApiError::other_project());
    }
    let overview = hub.store.overview(None).await?;
    let oldest = overview.waiting.iter().map(|group| group.since).min();
    let queue_age_ms = match oldest {
        Some(since) => hub.store.now().await?.saturating_sub(since),
        None => 0,
    };
    let stats = views::stats(&overview);
    // Whatever labels they need.
    let labels: BTreeSet<String> = overview
        .waiting
        .iter()
        .flat_map(|group| group.labels.iter().cloned())
        .collect();
    let assignable = fleet::count_assignable(&hub, None, labels.into_iter().collect()).await?;
    let connected = u64::try_from(hub.sessions.connected()).unwrap_or(u64::MAX);
    let queue_age_s = u64::try_from(queue_age_ms / 1_000).unwrap_or(0);
    let mut families = metric_families(&stats, assignable, connected, queue_age_s);
    if hub.settings.objects.is_some() {
        families.extend(object_families(&hub).await?);
    }
    let text = metrics_text(&families) + &hub.metrics.to_text();
    let media = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media)], text).into_response())
}

/// Values of one metric, each with what follows the metric's name: a suffix, and labels.
type Samples = Vec<(String, u64)>;

/// A metric: its name, type and description, and its values.
type MetricFamily = (&'static str, &'static str, &'static str, Samples);

async fn object_families(hub: &Hub) -> Result<Vec<MetricFamily>, ApiError> {
    let is_up = u64::from(is_object_store_available(hub).await);
    let unused = hub.store.count_unused_objects().await?;
    #[rustfmt::skip]
    let families = vec![
        ("object_store_up", "gauge", "Whether requests of this hub to the object store succeed.", single(is_up)),
        ("object_store_unused_objects", "gauge", "Objects that are to be deleted.", single(unused)),
    ];
    Ok(families)
}

fn metric_families(
    stats: &HubStats,
    assignable: u64,
    connected: u64,
    queue_age_s: u64,
) -> Vec<MetricFamily> {
    // All outcomes exist from the start, so that alerts see those that never occurred, and increases from 0.
    let mut outcomes: BTreeMap<String, u64> = Outcome::ALL
        .map(|outcome| (outcome.as_str().to_owned(), 0))
        .into();
    outcomes.extend(stats.outcomes.clone());
    // Work that a person accepted was not verified by its checks.
    if let Some(verified) = outcomes.get_mut(Outcome::Verified.as_str()) {
        *verified = verified.saturating_sub(stats.accepted);
    }
    outcomes.insert("accepted".to_owned(), stats.accepted);
    // The usual reasons exist from the start, so that their increase from 0 is seen.
    let mut retries = BTreeMap::from([("interrupted", 0), ("verification", 0)]);
    for (how, count) in &stats.retries {
        // A report that started a retry is one of a failed verification.
        let reason = if how == "report" { "verification" } else { how };
        retries.insert(reason, *count);
    }
    let held_states = [
        TaskState::Offered,
        TaskState::Running,
        TaskState::Cancelling,
    ];
    let leases = held_states
        .iter()
        .filter_map(|state| stats.states.get(state.as_str()))
        .sum();
    let micro_usd = stats.cost.micro_usd.map_or(0, |amount| amount.0);
    #[rustfmt::skip]
    let families = vec![
        ("tasks", "gauge", "Tasks by state.", labelled("state", &stats.states)),
        ("task_outcomes_total", "counter", "Finished tasks by outcome; `accepted` is work that a person accepted.", labelled("outcome", &outcomes)),
        ("attempts_closed_total", "counter", "Finished attempts by how they ended.", labelled("closing", &stats.closings)),
        ("verified_after_attempts", "histogram", "Attempts needed by tasks that their checks verified.", histogram(&stats.verified_after)),
        ("infra_losses_total", "counter", "Lost leases and infrastructure failures.", single(stats.infra_losses)),
        ("retries_total", "counter", "Attempts after the first of a task, by the end of the previous one.", labelled("reason", &retries)),
        ("cost_micro_usd_total", "counter", "Known cost in millionths of a dollar.", single(micro_usd)),
        ("tokens_total", "counter", "Input and output tokens.", single(stats.tokens)),
        ("leases", "gauge", "Tasks held by a worker.", single(leases)),
        ("tasks_assignable", "gauge", "Queued tasks that wait only for a worker, at most 10,000.", single(assignable)),
        ("queue_oldest_age_seconds", "gauge", "Age of the oldest queued task.", single(queue_age_s)),
        ("workers_connected", "gauge", "Workers connected to this hub.", single(connected)),
    ];
    families
}

fn metrics_text(families: &[MetricFamily]) -> String {
    let mut text = String::new();
    for (name, kind, about, samples) in families {
        let name = format!("selvedge_{name}");
        text.push_str(&format!("# HELP {name} {about}\n# TYPE {name} {kind}\n"));
        for (suffix, value) in samples {
            text.push_str(&format!("{name}{suffix} {value}\n"));
        }
    }
    text
}

fn single(value: u64) -> Samples {
    vec![(String::new(), value)]
}

fn labelled<'a, N: Display + 'a>(
    label: &str,
    values: impl IntoIterator<Item = (&'a N, &'a u64)>,
) -> Samples {
    let sample = |(name, value): (&N, &u64)| (format!("{{{label}=\"{name}\"}}"), *value);
    values.into_iter().map(sample).collect()
}

/// Tasks by the number of their reports.
fn histogram(verified_after: &BTreeMap<u32, u64>) -> Samples {
    let bucket = |bound: u32| {
        let tasks: u64 = verified_after
            .range(1..=bound)
            .map(|(_, tasks)| tasks)
            .sum();
        (format!("_bucket{{le=\"{bound}\"}}"), tasks)
    };
    let all: u64 = verified_after.values().sum();
    let sum = verified_after.iter().fold(0_u64, |sum, (attempts, tasks)| {
        sum.saturating_add(u64::from(*attempts) * tasks)
    });
    let totals = [
        ("_bucket{le=\"+Inf\"}", all),
        ("_sum", sum),
        ("_count", all),
    ];
    let totals = totals.map(|(suffix, value)| (suffix.to_owned(), value));
    (1..=6).map(bucket).chain(totals).collect()
}
