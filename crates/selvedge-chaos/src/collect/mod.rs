//! Reads the databases and traces of a round into its history.

mod postgres;
mod sqlite;
mod trace;

pub use postgres::read_postgres_tables;
pub use sqlite::read_sqlite_tables;
pub use trace::read_traces;

/// Error while reading a database or a trace.
pub type CollectError = Box<dyn std::error::Error + Send + Sync>;
