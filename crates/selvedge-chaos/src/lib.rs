//! Fault tests of hubs and workers: real processes, faults from a seed, and a checker of the twelve
//! invariants that `docs/fault-tests.md` lists.
//!
//! [`mod@check`] is pure: what was observed goes in, violations come out. [`observe`] reads databases and
//! traces into a [`History`]. [`stage`] starts processes and does things to them; [`play`] says what and when. Nothing here may be
//! needed by Selvedge itself.

pub mod check;
pub mod history;
pub mod observe;
pub mod play;
pub mod stage;

pub use check::{Violation, check};
pub use history::History;
