//! Fault tests of hubs and workers: real processes, faults drawn from a seed, and a checker of the
//! twelve invariants listed in `docs/explanation/fault-tests.md`.
//!
//! [`mod@check`] is pure: it takes a history and returns violations. [`collect`] reads databases and
//! traces into a [`History`]. [`cluster`] starts processes and applies faults to them; [`scenarios`]
//! decides which faults, and when. [`Mutant`] names deliberate bugs, which are all in this crate. Selvedge
//! itself must not depend on this crate.

pub mod check;
pub mod cluster;
pub mod collect;
pub mod history;
mod mutant;
pub mod scenarios;

pub use check::{Violation, check};
pub use history::History;
pub use mutant::Mutant;
