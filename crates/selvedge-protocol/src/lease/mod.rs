//! The lease of a task: who may work on it now, and which of a worker's messages are still valid.
//!
//! Two pure, total functions, as in [`selvedge_core::machine`]: [`decide`] returns the effects of an input or rejects it;
//! [`evolve`] folds one [`LeaseEvent`] into the state. The hub stores the decision in the transaction that responds, so
//! replaying the hub's log reproduces the table of tasks.
//!
//! Three numbers are kept separate: the *epoch* increases with every assignment and, with a random token, is the
//! credential for every write of a worker; *run numbers* count attempts, without gaps; *losses* count lost leases and
//! infrastructure failures, so that a crash neither uses nor refunds a verification retry. This module does not read a
//! clock or create tokens.

mod decide;
mod event;
mod input;
mod state;

#[cfg(test)]
mod tests;

pub use decide::decide;
pub use event::{LeaseEvent, LossReason, evolve};
pub use input::{InputDisposition, LeaseDecision, LeaseError, LeaseInput};
pub use state::{LeaseRules, LeaseState, VerdictDoubtError};
