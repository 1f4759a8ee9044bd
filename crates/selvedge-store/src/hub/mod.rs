//! What a hub remembers: its queue of tasks with their leases, the runs' journals and reports, the
//! cost ledger, blobs, and who may ask for what.
//!
//! Small traits ([`Queue`], [`Reports`], [`Blobs`], [`Identities`]), and databases behind them. What
//! an input *means* is decided once, purely, by `selvedge_core::lease` and [`apply`]; a database only
//! loads rows, keeps them locked, and writes what was decided in the transaction whose commit is
//! awaited before anyone is answered. Nothing here may hold a transaction while an agent works.

mod apply;
mod board;
mod change;
mod error;
mod overview;
mod planted;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
pub mod sqlite;
mod traits;

pub use apply::apply;
pub use board::{BoardFilter, BoardPage, Census, FactLine, Kind, ListOrder, NewFacts};
pub use change::{
    Answer, Change, CostLine, Entry, FileLine, JournalLine, Step, StoredRun, Verdict, Written,
};
pub use error::HubStoreError;
#[cfg(feature = "postgres")]
pub use postgres::PostgresHub;
pub use rows::{
    BlobState, Completion, Cost, Granted, Identity, ListFilter, ListPage, LogLine, NewIdentity,
    NewTask, Overview, Placement, ReportRow, RunRow, Submitted, TaskRow, TaskView, Want,
};
pub use sqlite::SqliteHub;
pub use traits::{Answered, Blobs, HubStore, Identities, Neighbours, Queue, Reports, Settings};
