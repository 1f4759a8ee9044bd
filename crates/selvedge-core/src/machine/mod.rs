//! The loop as a state machine: two pure, total functions.
//!
//! [`decide`] is policy: from what is known and what was just observed, it says what is appended to
//! the journal. [`evolve`] is history: it folds one appended event into the state. Replaying a
//! journal only evolves, so a later change of policy never rewrites an old verdict.
//!
//! Effects are data: [`Run::pending`] says what is to be done, the driver in `selvedge-engine` does
//! it and answers with an [`Input`]. Nothing in here reads a clock or makes an id.

mod budget;
mod decide;
mod draft;
mod evolve;
pub(crate) mod floors;
mod input;
mod judge;
mod known;
mod message;
mod next;
mod rerun;
mod result;
pub(crate) mod signature;
mod state;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub use budget::Left;
pub(crate) use decide::UNCHANGED;
pub use decide::decide;
pub use evolve::evolve;
pub use input::{IllegalInput, Input};
pub use judge::{apply_reruns, compare};
pub use known::{excuse, find_touched};
pub use rerun::{fails_again, is_old_failure, new_failures};
pub(crate) use result::status_word;
pub(crate) use signature::circles_back_to;
pub use state::{Attempt, Control, Decided, Pending, Phase, Run, State};
