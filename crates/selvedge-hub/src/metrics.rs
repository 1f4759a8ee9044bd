//! Durations that this hub has measured since its start, as histograms.

use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds: of requests and of writes to the store.
const SHORT_BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 20.0];
/// Seconds: of tasks, which take minutes.
const LONG_BUCKETS: [f64; 12] = [
    0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0,
];

/// Labels of a request: method, route, and the class of its status.
type RequestLabels = [(&'static str, String); 3];
type OutcomeLabels = [(&'static str, &'static str); 1];
/// Labels of a request to the object store: its operation, and whether it succeeded.
type ObjectLabels = [(&'static str, &'static str); 2];

/// The histograms.
pub(crate) struct HubMetrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Histogram>,
    commits: Histogram,
    waits: Histogram,
    tasks: Family<OutcomeLabels, Histogram>,
    objects: Family<ObjectLabels, Histogram>,
}

impl Default for HubMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("selvedge");
        let requests = Family::new_with_constructor(short_histogram as fn() -> Histogram);
        let commits = short_histogram();
        let waits = long_histogram();
        let tasks = Family::new_with_constructor(long_histogram as fn() -> Histogram);
        let objects = Family::new_with_constructor(short_histogram as fn() -> Histogram);
        registry.register(
            "http_request_duration_seconds",
            "Time until the response to a request began, by method, route and class of status",
            requests.clone(),
        );
        registry.register(
            "store_commit_seconds",
            "Time until a change of a task was committed, with the wait for the writer",
            commits.clone(),
        );
        registry.register(
            "task_wait_seconds",
            "Time from the submission of a task to its first attempt",
            waits.clone(),
        );
        registry.register(
            "task_duration_seconds",
            "Time from the submission of a task to its end, by outcome",
            tasks.clone(),
        );
        registry.register(
            "object_store_request_seconds",
            "Time until a request to the object store had its answer, with its retries, by operation and result",
            objects.clone(),
        );
        Self {
            registry: Mutex::new(registry),
            requests,
            commits,
            waits,
            tasks,
            objects,
        }
    }
}

fn short_histogram() -> Histogram {
    Histogram::new(SHORT_BUCKETS)
}

fn long_histogram() -> Histogram {
    Histogram::new(LONG_BUCKETS)
}

impl HubMetrics {
    /// Records a request; `route` is the pattern of its path.
    pub(crate) fn record_request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", format!("{}xx", status / 100)),
        ];
        let requests = self.requests.get_or_create(&labels);
        requests.observe(took.as_secs_f64());
    }

    /// Records a committed change.
    pub(crate) fn record_commit(&self, took: Duration) {
        self.commits.observe(took.as_secs_f64());
    }

    /// Records how long a task waited for its first attempt.
    pub(crate) fn record_wait(&self, waited: Duration) {
        self.waits.observe(waited.as_secs_f64());
    }

    /// Records an ended task.
    pub(crate) fn record_task(&self, outcome: &'static str, took: Duration) {
        let tasks = self.tasks.get_or_create(&[("outcome", outcome)]);
        tasks.observe(took.as_secs_f64());
    }

    /// Records a request to the object store.
    pub(crate) fn record_object_request(
        &self,
        operation: &'static str,
        is_ok: bool,
        took: Duration,
    ) {
        let result = if is_ok { "ok" } else { "error" };
        let labels = [("operation", operation), ("result", result)];
        let requests = self.objects.get_or_create(&labels);
        requests.observe(took.as_secs_f64());
    }

    /// All histograms in the Prometheus text format.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut text, &self.registry.lock());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_have_labels_and_counts() {
        let metrics = HubMetrics::default();
        metrics.record_request("GET", "/api/v1/tasks/{id}", 404, Duration::from_millis(3));
        metrics.record_commit(Duration::from_millis(2));
        metrics.record_task("verified", Duration::from_secs(70));
        let text = metrics.to_text();
        for line in [
            "# TYPE selvedge_http_request_duration_seconds histogram",
            "selvedge_http_request_duration_seconds_bucket{le=\"0.005\",method=\"GET\",\
             route=\"/api/v1/tasks/{id}\",status=\"4xx\"} 1",
            "selvedge_store_commit_seconds_count 1",
            "selvedge_task_wait_seconds_count 0",
            "selvedge_task_duration_seconds_bucket{le=\"300.0\",outcome=\"verified\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(!text.contains("EOF"), "{text}");
    }
}
