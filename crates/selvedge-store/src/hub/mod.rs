//! What a hub remembers: its queue of tasks with their leases, the runs' journals and reports, the
//! cost ledger, blobs, and who may ask for what.
//!
//! Small traits ([`Queue`], [`RunRecords`], [`BlobStore`], [`TokenStore`]), and databases behind them. What
//! an input *means* is decided once, purely, by `selvedge_core::lease` and [`apply`]; a database only
//! loads rows, keeps them locked, and writes what was decided in the transaction whose commit is
//! awaited before anyone is answered. Nothing here may hold a transaction while an agent works.

mod apply;
mod change;
mod error;
mod mutants;
#[cfg(feature = "postgres")]
mod postgres;
mod retention;
mod rows;
pub mod sqlite;
mod task_queries;
mod traits;

pub use apply::apply;
pub use change::{
    ChangeAnswer, ChangeOutcome, CostLine, EntryKind, FileLine, JournalLine, StoredAttempt,
    StreamEntry, TaskChange, WriteSet,
};
pub use error::HubStoreError;
#[cfg(feature = "postgres")]
pub use postgres::PostgresHub;
pub use rows::{
    ApiToken, Assignment, AttemptRow, BlobState, Completion, LedgerTotal, ListFilter, ListPage,
    LogLine, NewApiToken, NewTask, Overview, PollRequest, QueuedGroup, ReportRow, SubmitOutcome,
    TaskRecord, TaskView,
};
pub use sqlite::SqliteHub;
pub use task_queries::{
    NewRunStats, RunStatsRow, StateAndOutcome, TaskCounts, TaskFilter, TaskPageRequest,
    TaskSortOrder,
};
pub use traits::{
    BlobStore, HubStore, Peers, Queue, RunRecords, StoreFuture, StoreSettings, TokenStore,
};
