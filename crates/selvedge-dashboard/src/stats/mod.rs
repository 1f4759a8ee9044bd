//! Retry statistics: how many tasks were verified at the first attempt, how many recovered by a retry, how
//! many did not, and what each cost. [`RunStats`] holds the data of one run, [`StatsReport`] aggregates many
//! runs. Dashboard, terminal and JSON show the same numbers.

mod report;
mod run_stats;
mod tables;

pub use report::{
    CheckTotals, NO_MODEL, RetryStats, StatsBucket, StatsGroup, StatsPeriod, StatsReport,
};
pub(crate) use run_stats::kind_name;
pub use run_stats::{CheckStats, RunCategory, RunStats};
pub use tables::{LOWER_BOUND_NOTE, StatsTable, format_cost, is_lower_bound, tables};
pub(crate) use tables::{format_optional_cost, format_shares};
