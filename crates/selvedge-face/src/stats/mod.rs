//! What the loop buys: how many tasks were verified at the first attempt, how many were rescued by a
//! retry, how many were not, and what each cost. [`RunFacts`] is what is kept of a run,
//! [`Figures`] what many of them come to; the dashboard, a terminal and JSON show the same ones.

mod facts;
mod figures;
mod tables;

pub use facts::{CheckFacts, Ending, RunFacts};
pub use figures::{Bought, CheckFigures, Figures, Group, Share, Since};
pub use tables::{Table, tables};
pub(crate) use tables::{of_judged, perhaps};
