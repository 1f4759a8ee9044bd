//! Fault tests of hubs and workers: real processes, faults from a seed, and a checker of the twelve
//! invariants that `docs/fault-tests.md` lists.
//!
//! [`mod@check`] is pure: what was observed goes in, violations come out. [`collect`] reads databases and
//! traces into a [`History`]. [`cluster`] starts processes and does things to them; [`scenarios`] says what and when. Nothing here may be
//! needed by Selvedge itself.

pub mod check;
pub mod cluster;
pub mod collect;
pub mod history;
pub mod scenarios;

pub use check::{Violation, check};
pub use history::History;
