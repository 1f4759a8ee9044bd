//! The interface to the journal. It is a barrier: consequences of an event begin only once it is durable.

use futures_util::future::BoxFuture;
use selvedge_core::model::Envelope;

/// Result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a fenced writer has lost the run and must stop"]
pub enum AppendResult {
    /// All events are durable.
    Committed,
    /// Another process has taken the run over: end all processes, journal nothing more.
    Fenced,
}

/// The journal cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Appends events durably. Local runs, workers and tests use the same interface.
pub trait EventSink: Send + Sync {
    /// Appends all of the events or none, and returns when they are durable. `expected_seq` is the sequence number of
    /// the last event that the caller knows.
    fn append(
        &self,
        expected_seq: u64,
        events: Vec<Envelope>,
    ) -> BoxFuture<'_, Result<AppendResult, SinkError>>;
}
