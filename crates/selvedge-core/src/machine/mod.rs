//! The loop as a state machine: two pure, total functions.
//!
//! [`decide`] is policy: it decides, from the state and a new input, which events are appended to the journal.
//! [`evolve`] is history: it folds one appended event into the state. Replaying a journal only evolves, so a later
//! change of policy never changes an old verdict.
//!
//! Effects are data: [`Run::pending`](crate::run::Run::pending) lists them, the driver in `selvedge-engine` carries them
//! out and answers each with an [`Input`]. This module does not read a clock or create ids.

mod baseline_comparison;
mod decide;
mod event_batch;
mod evolve;
mod input;
mod journal_state;
mod known_failures;
mod rerun;
mod transitions;
mod unrun_tests;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub use baseline_comparison::{apply_reruns, compare};
pub use decide::decide;
pub use evolve::evolve;
pub use input::{IllegalInputError, Input};
pub use journal_state::JournalState;
pub use known_failures::{excuse_known_failures, find_touched, list_failures};
pub use rerun::{fails_again, is_old_failure, may_be_flaky, new_failures};
pub(crate) use unrun_tests::find_stop_reason;
pub use unrun_tests::find_unrun_reason;
