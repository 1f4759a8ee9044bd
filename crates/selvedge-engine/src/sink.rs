//! Where events go: a barrier. What follows from an event begins only once it is durable.

use futures_util::future::BoxFuture;
use selvedge_core::model::Envelope;

/// What became of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a fenced writer has lost the run and must stop"]
pub enum AppendResult {
    /// All events are durable.
    Committed,
    /// Somebody else has taken the run over: end everything, journal nothing more.
    Fenced,
}

/// Nothing can be journalled.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Takes events for good. A local run, a worker and a test travel the same path.
pub trait EventSink: Send + Sync {
    /// Appends all of the events or none, and is done when they are durable. `expected_seq` is the
    /// sequence number of the last event that the caller knows.
    fn append(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> BoxFuture<'_, Result<AppendResult, SinkError>>;
}
