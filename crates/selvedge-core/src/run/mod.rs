//! The state of a run: its attempts, its phase, the rest of its budget, and its result.
//!
//! A [`Run`] is the fold of its events and nothing else. [`crate::machine`] folds them and decides what follows.

mod budget;
mod repetition;
mod result;
mod state;

pub use budget::RemainingBudget;
pub(crate) use budget::{budget_exceeded_reason, exhausted_cap};
pub use state::{Attempt, Conclusion, PendingEffect, Phase, Run, RunControl};
