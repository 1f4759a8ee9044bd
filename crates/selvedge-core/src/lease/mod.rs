//! The lease of a task: who may work on it now, and which of a worker's words still count.
//!
//! Two pure, total functions, as in [`crate::machine`]: [`decide`] says what follows from an input, or
//! why it is refused; [`evolve`] folds one [`LeaseEvent`] into the state. The hub stores what was
//! decided in the transaction that answers, so replaying the hub's log gives the table of tasks anew.
//!
//! Three numbers are never merged: the *epoch* goes up with every grant and, with a random token, is
//! the fence on every write of a worker; *run numbers* count attempts, without gaps; *losses* count
//! leases lost and broken machinery, so that a crash neither spends nor refunds a verification retry.
//! Nothing in here reads a clock or makes a token.

mod decide;
mod event;
mod input;
mod state;

#[cfg(test)]
mod tests;

pub use decide::decide;
pub use event::{LeaseEvent, LossReason, evolve};
pub use input::{InputDisposition, LeaseDecision, LeaseError, LeaseInput, ReviewAction};
pub use state::{LeaseCredential, LeaseRules, LeaseState};
