//! Reading what a round left behind into its history.

mod postgres;
mod sqlite;
mod trace;

pub use postgres::postgres_tables;
pub use sqlite::sqlite_tables;
pub use trace::traces;

/// Why something that was left behind cannot be read.
pub type Unread = Box<dyn std::error::Error + Send + Sync>;
