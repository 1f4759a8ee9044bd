//! Records which traces a collector has accepted, and which are lost.

use std::pin::Pin;
use std::sync::Arc;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use parking_lot::Mutex;
use selvedge_core::sanitize::sanitize_line;
use serde_json::Value;

/// Which spans the collector has. The first failure after a success is a line of the log, if the program has one.
#[derive(Debug, Default)]
pub(super) struct ExportProgress(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Spans that have ended.
    ended: u64,
    /// Spans that the collector has.
    exported: u64,
    /// Spans of an answered request that the collector did not take.
    rejected: u64,
    last_failure: Option<String>,
    is_failing: bool,
}

impl ExportProgress {
    pub(super) fn record_ended(&self, spans: usize) {
        self.0.lock().ended += span_count(spans);
    }

    /// Records an answered request with these spans.
    pub(super) fn record_exported(&self, spans: usize) {
        let mut counts = self.0.lock();
        let rejected = std::mem::take(&mut counts.rejected).min(span_count(spans));
        counts.exported += span_count(spans) - rejected;
        counts.is_failing = rejected > 0;
    }

    /// Records why spans are lost. The reason may contain text of the collector.
    pub(super) fn record_failure(&self, reason: &str) {
        let reason = sanitize_line(reason);
        let mut counts = self.0.lock();
        if !std::mem::replace(&mut counts.is_failing, true) {
            tracing::warn!("cannot export traces: {reason}");
        }
        counts.last_failure = Some(reason);
    }

    /// How many spans are lost, and why; `None` if the collector has all of them.
    pub(super) fn describe_losses(&self) -> Option<String> {
        let counts = self.0.lock();
        let lost = counts.ended.saturating_sub(counts.exported);
        let reason = counts.last_failure.as_deref().unwrap_or("unknown reason");
        (lost > 0).then(|| format!("{lost} of {} spans are lost: {reason}", counts.ended))
    }

    /// Records the spans of a successful request that the collector rejected.
    fn record_answer(&self, body: &[u8]) {
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let partial = &answer["partialSuccess"];
        // A 64-bit number is a text in the JSON form of protocol buffers.
        let rejected = &partial["rejectedSpans"];
        let rejected = rejected
            .as_u64()
            .or_else(|| rejected.as_str()?.parse().ok())
            .unwrap_or(0);
        if rejected > 0 {
            let reason = partial["errorMessage"].as_str().unwrap_or_default();
            self.record_failure(&format!("rejected by the collector: {reason}"));
            let mut counts = self.0.lock();
            counts.rejected = counts.rejected.saturating_add(rejected);
        }
    }
}

fn span_count(spans: usize) -> u64 {
    u64::try_from(spans).unwrap_or(u64::MAX)
}

/// A client that also reads the answers, of which the exporter ignores partial successes.
#[derive(Debug)]
pub(super) struct CollectorClient {
    inner: reqwest::Client,
    progress: Arc<ExportProgress>,
}

impl CollectorClient {
    pub(super) const fn new(inner: reqwest::Client, progress: Arc<ExportProgress>) -> Self {
        Self { inner, progress }
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'client, 'answer>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'client: 'answer,
        Self: 'answer,
    {
        Box::pin(async move {
            let response = self.inner.send_bytes(request).await?;
            if response.status().is_success() {
                self.progress.record_answer(response.body());
            }
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_spans_are_counted_with_the_last_reason() {
        let progress = ExportProgress::default();
        assert_eq!(progress.describe_losses(), None);
        progress.record_ended(5);
        progress.record_answer(b"{}");
        progress.record_exported(2);
        let answer = br#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too\nold"}}"#;
        progress.record_answer(answer);
        progress.record_exported(3);
        assert_eq!(
            progress.describe_losses().as_deref(),
            Some("2 of 5 spans are lost: rejected by the collector: too\\nold")
        );
        progress.record_ended(1);
        progress.record_failure("network error");
        assert_eq!(
            progress.describe_losses().as_deref(),
            Some("3 of 6 spans are lost: network error")
        );
    }
}
