//! Reading what a round left behind into its history.

mod postgres;
mod sqlite;
mod trace;

pub use postgres::read_postgres_tables;
pub use sqlite::read_sqlite_tables;
pub use trace::read_traces;

/// Why something that was left behind cannot be read.
pub type CollectError = Box<dyn std::error::Error + Send + Sync>;
