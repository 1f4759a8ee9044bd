//! Exports the traces of runs over OTLP, if the standard variables of OpenTelemetry name a collector.
//!
//! Nothing waits for the collector while a run is driven; what a collector does not take is lost, with a notice.

mod spans;

use std::time::Duration;

use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use parking_lot::Mutex;
use selvedge_core::model::{Envelope, RunId};
use selvedge_core::run::Run;
use selvedge_core::trace_context::{TRACEPARENT, TraceContext};
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::CliError;

/// Variables of which one names the collector.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
/// Batches that wait for the collector; further ones are lost.
const QUEUE_LENGTH: usize = 1_024;
/// How long the end of the program waits for the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The connection to a collector; without one, it does nothing.
pub(crate) struct Telemetry {
    exporting: Mutex<Option<Exporting>>,
    traceparent: Option<String>,
}

struct Exporting {
    batches: mpsc::Sender<Vec<SpanData>>,
    task: JoinHandle<Option<String>>,
}

impl Telemetry {
    /// Starts the export if a collector is named. Needs a runtime.
    pub(crate) fn start(environment: &[(String, String)]) -> Result<Self, CliError> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(it, _)| it == name);
            found
                .map(|(_, value)| value.as_str())
                .filter(|it| !it.is_empty())
        };
        let is_disabled = variable("OTEL_SDK_DISABLED") == Some("true")
            || variable("OTEL_TRACES_EXPORTER") == Some("none");
        let is_wanted = !is_disabled && ENDPOINTS.into_iter().any(|name| variable(name).is_some());
        let exporting = if is_wanted {
            Some(Exporting::start(variable("OTEL_SERVICE_NAME").is_some())?)
        } else {
            None
        };
        Ok(Self {
            exporting: Mutex::new(exporting),
            traceparent: variable(TRACEPARENT).map(str::to_owned),
        })
    }

    /// Wraps a run's observer, so that the spans of the run are exported.
    pub(crate) fn observe<'a>(&'a self, run_id: RunId, inner: &'a dyn Observer) -> TracedRun<'a> {
        TracedRun {
            telemetry: self,
            context: TraceContext::of_run(run_id, self.traceparent.as_deref()),
            inner,
        }
    }

    /// Sends what has not been sent yet, and returns what went wrong.
    pub(crate) async fn finish(&self) -> Option<String> {
        let exporting = self.exporting.lock().take();
        let Exporting { batches, task } = exporting?;
        drop(batches);
        match tokio::time::timeout(FLUSH_TIMEOUT, task).await {
            Ok(Ok(error)) => error,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the collector did not answer in time".to_owned()),
        }
    }
}

impl Exporting {
    fn start(has_service_name: bool) -> Result<Self, CliError> {
        let failed = |error: &dyn std::fmt::Display| {
            CliError::usage(format!("cannot export traces: {error}"))
                .hint("OTEL_EXPORTER_OTLP_ENDPOINT is the URL of an OTLP/HTTP collector, such as http://127.0.0.1:4318")
        };
        // Fails if another provider was installed first, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| failed(&error))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpJson)
            .build();
        let mut exporter = exporter.map_err(|error| failed(&error))?;
        let mut resource = Resource::builder();
        if !has_service_name {
            resource = resource.with_service_name("selvedge");
        }
        exporter.set_resource(&resource.build());
        let (batches, receiver) = mpsc::channel(QUEUE_LENGTH);
        let task = tokio::spawn(export_all(exporter, receiver));
        Ok(Self { batches, task })
    }
}

/// Exports batches until their senders are gone; returns the last error.
async fn export_all(
    exporter: SpanExporter,
    mut batches: mpsc::Receiver<Vec<SpanData>>,
) -> Option<String> {
    let mut waiting = Vec::new();
    let mut last_error = None;
    while batches.recv_many(&mut waiting, QUEUE_LENGTH).await > 0 {
        let spans = waiting.drain(..).flatten().collect();
        if let Err(error) = exporter.export(spans).await {
            last_error = Some(error.to_string());
        }
    }
    last_error
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
                // A collector that is too slow loses spans instead of delaying the run.
                let _ = exporting.batches.try_send(ended);
            }
        }
    }
}
