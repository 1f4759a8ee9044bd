//! Exports the traces of runs over OTLP, if the standard variables of OpenTelemetry name a collector.
//!
//! Nothing waits for the collector while a run is driven; what a collector does not take is lost, with a notice. No
//! setting of the export can fail a run.

mod collector;
mod spans;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use parking_lot::Mutex;
use selvedge_core::model::{Envelope, RunId};
use selvedge_core::redact::parse_header_list;
use selvedge_core::run::Run;
use selvedge_core::trace_context::{TRACEPARENT, TraceContext};
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::collector::{CollectorClient, ExportProgress};

/// Variables of which one names the collector.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
const TIMEOUTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
];
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];
const COMPRESSIONS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
];
const PROTOCOLS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];
/// Batches that wait for the collector; further ones are lost.
const QUEUE_LENGTH: usize = 1_024;
/// How long the end of the program waits for the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of a request whose variable is 0: none that matters.
const NO_REQUEST_TIMEOUT: Duration = Duration::from_hours(24);

/// The connection to a collector; without one, it does nothing.
pub(crate) struct Telemetry {
    exporting: Mutex<Option<ActiveExport>>,
    traceparent: Option<String>,
}

struct ActiveExport {
    batches: mpsc::Sender<Vec<SpanData>>,
    progress: Arc<ExportProgress>,
    task: JoinHandle<()>,
}

/// The variables that are set and not empty; their values without surrounding spaces.
struct Variables<'a>(&'a [(String, String)]);

impl<'a> Variables<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(it, _)| it == name);
        found
            .map(|(_, value)| value.trim())
            .filter(|it| !it.is_empty())
    }

    /// Whether a variable has a value, in capitals or not.
    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name)
            .is_some_and(|it| it.eq_ignore_ascii_case(value))
    }

    /// The first variable of some, and its value.
    fn first<'n>(&self, names: [&'n str; 2]) -> Option<(&'n str, &'a str)> {
        let mut names = names.into_iter();
        names.find_map(|name| Some((name, self.get(name)?)))
    }

    /// A warning about a variable with an unsupported value: the problem, and the value that is
    /// used instead.
    fn ignored_value(&self, names: [&str; 2], supported: &[&str], instead: &str) -> Option<String> {
        let (name, value) = self.first(names)?;
        let is_supported = supported.iter().any(|it| it.eq_ignore_ascii_case(value));
        (!is_supported)
            .then(|| format!("{name}: unsupported value `{value}` is ignored: {instead}"))
    }
}

impl Telemetry {
    /// Starts the export if a collector is named, and returns what is wrong with its settings. Needs a runtime.
    pub(crate) fn start(environment: &[(String, String)]) -> (Self, Vec<String>) {
        let variables = Variables(environment);
        let is_disabled = variables.is("OTEL_SDK_DISABLED", "true")
            || variables.is("OTEL_TRACES_EXPORTER", "none");
        let is_wanted = !is_disabled && variables.first(ENDPOINTS).is_some();
        let mut problems = Vec::new();
        let exporting = is_wanted.then(|| ActiveExport::start(&variables, &mut problems));
        let exporting = exporting.and_then(|started| {
            started
                .inspect_err(|error| problems.push(format!("traces are not exported: {error}")))
                .ok()
        });
        let telemetry = Self {
            exporting: Mutex::new(exporting),
            traceparent: variables.get(TRACEPARENT).map(str::to_owned),
        };
        (telemetry, problems)
    }

    /// Wraps a run's observer, so that the spans of the run are exported.
    pub(crate) fn observe<'a>(&'a self, run_id: RunId, inner: &'a dyn Observer) -> TracedRun<'a> {
        TracedRun {
            telemetry: self,
            context: TraceContext::of_run(run_id, self.traceparent.as_deref()),
            inner,
        }
    }

    /// Sends what has not been sent yet, and returns how many spans are lost, and why.
    pub(crate) async fn finish(&self) -> Option<String> {
        let exporting = self.exporting.lock().take();
        let ActiveExport {
            batches,
            progress,
            task,
        } = exporting?;
        drop(batches);
        match tokio::time::timeout(FLUSH_TIMEOUT, task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => progress.record_failure(&error.to_string()),
            Err(_) => progress.record_failure("the collector did not answer in time"),
        }
        progress.describe_losses()
    }
}

impl ActiveExport {
    fn start(
        variables: &Variables<'_>,
        problems: &mut Vec<String>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        // Fails if another provider was installed first, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let timeout = request_timeout(variables, problems);
        let client = reqwest::Client::builder()
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        problems.extend(variables.ignored_value(
            COMPRESSIONS,
            &["gzip", "none"],
            "use `gzip` or `none`",
        ));
        // Collectors take JSON where they take protocol buffers over HTTP.
        problems.extend(variables.ignored_value(
            PROTOCOLS,
            &["http/json", "http/protobuf"],
            "traces are exported as JSON over HTTP",
        ));
        // The exporter would not find secrets in the environment: headers, and a URL with a password.
        let headers = variables.first(HEADERS).map_or("", |(_, list)| list);
        let headers: HashMap<String, String> = parse_header_list(headers)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let progress = Arc::new(ExportProgress::default());
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(CollectorClient::new(client, Arc::clone(&progress)))
            .with_endpoint(endpoint(variables))
            .with_headers(headers)
            .with_protocol(Protocol::HttpJson)
            .with_timeout(timeout)
            .build()?;
        let mut resource = Resource::builder();
        if let Some(name) = service_name(variables) {
            resource = resource.with_service_name(name.to_owned());
        }
        exporter.set_resource(&resource.build());
        let (batches, receiver) = mpsc::channel(QUEUE_LENGTH);
        let task = tokio::spawn(export_all(exporter, receiver, Arc::clone(&progress)));
        Ok(Self {
            batches,
            progress,
            task,
        })
    }

    /// Hands spans to the export. A collector that is too slow loses them instead of delaying the run.
    fn send(&self, spans: Vec<SpanData>) {
        let count = spans.len();
        self.progress.record_ended(count);
        if self.batches.try_send(spans).is_err() {
            self.progress.record_failure("the collector is too slow");
        }
    }
}

/// The URL for traces: the variable for all signals has the one that their paths follow.
fn endpoint(variables: &Variables<'_>) -> String {
    let [traces, all] = ENDPOINTS.map(|name| variables.get(name));
    let below = |url: &str| format!("{}/v1/traces", url.trim_end_matches('/'));
    traces
        .map(str::to_owned)
        .or_else(|| all.map(below))
        .unwrap_or_default()
}

/// The time limit of a request to the collector.
fn request_timeout(variables: &Variables<'_>, problems: &mut Vec<String>) -> Duration {
    let Some((name, value)) = variables.first(TIMEOUTS) else {
        return DEFAULT_REQUEST_TIMEOUT;
    };
    match value.parse() {
        Ok(0) => NO_REQUEST_TIMEOUT,
        Ok(milliseconds) => Duration::from_millis(milliseconds).min(NO_REQUEST_TIMEOUT),
        Err(_) => {
            problems.push(format!(
                "{name}: invalid time `{value}` is ignored: use a number of milliseconds"
            ));
            DEFAULT_REQUEST_TIMEOUT
        }
    }
}

/// The service name that the variables give, or our own; `None` if it is one of the resource's attributes.
fn service_name<'a>(variables: &Variables<'a>) -> Option<&'a str> {
    if let Some(name) = variables.get("OTEL_SERVICE_NAME") {
        return Some(name);
    }
    let attributes = variables
        .get("OTEL_RESOURCE_ATTRIBUTES")
        .unwrap_or_default();
    let mut names = attributes.split(',').filter_map(|it| it.split_once('='));
    let is_given = names.any(|(name, _)| name.trim() == "service.name");
    (!is_given).then_some("selvedge")
}

/// Exports batches until their senders are gone.
async fn export_all(
    exporter: SpanExporter,
    mut batches: mpsc::Receiver<Vec<SpanData>>,
    progress: Arc<ExportProgress>,
) {
    let mut waiting = Vec::new();
    while batches.recv_many(&mut waiting, QUEUE_LENGTH).await > 0 {
        let spans: Vec<_> = waiting.drain(..).flatten().collect();
        let count = spans.len();
        match exporter.export(spans).await {
            Ok(()) => progress.record_exported(count),
            Err(error) => progress.record_failure(&error.to_string()),
        }
    }
}

/// An observer of a run that also exports its spans.
pub(crate) struct TracedRun<'a> {
    telemetry: &'a Telemetry,
    context: TraceContext,
    inner: &'a dyn Observer,
}

impl Progress for TracedRun<'_> {
    fn on_activity(&self, activity: Activity) {
        self.inner.on_activity(activity);
    }
}

impl Observer for TracedRun<'_> {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        self.inner.on_event(envelope, run);
        if let Some(exporting) = self.telemetry.exporting.lock().as_ref() {
            let ended = spans::ended_spans(envelope, run, &self.context);
            if !ended.is_empty() {
                exporting.send(ended);
            }
        }
    }
}
