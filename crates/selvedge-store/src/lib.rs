//! Storage of runs. [`Journal`] is the append-only log of every run and the only source of truth;
//! [`SqliteJournal`] stores it in one file. Everything here is synchronous: a caller uses a dedicated thread
//! for a journal. Nothing here may interpret a run's events beyond the few facts that a list of runs shows
//! ([`RunSummary`]).

mod error;
pub mod fault;
#[cfg(feature = "hub")]
pub mod hub;
mod journal;
mod outbox;
mod run_name;
mod sqlite;
mod summary;

pub use error::StoreError;
pub use journal::{AppendOutcome, EventIter, Journal, RunFilter};
pub use outbox::{HeldTask, Outbox, OutboxEntry};
pub use run_name::RunMatch;
pub use sqlite::SqliteJournal;
pub use summary::{RunStatus, RunSummary, TaskHead};
