//! What the loop buys: how many tasks were verified at the first attempt, how many were rescued by a
//! retry, how many were not, and what each cost. [`RunStats`] is what is kept of a run,
//! [`StatsReport`] what many of them come to; the dashboard, a terminal and JSON show the same ones.

mod report;
mod run_stats;
mod tables;

pub use report::{CheckTotals, RetryStats, StatsBucket, StatsGroup, StatsPeriod, StatsReport};
pub use run_stats::{CheckStats, RunCategory, RunStats};
pub use tables::{StatsTable, tables};
pub(crate) use tables::{format_optional_cost, format_share};
