//! The pages: what each shows, as plain values for its template. Foreign text passes through
//! [`crate::text`] on its way into a value; the templates escape everything once more.

mod activity;
mod attempt;
mod costs;
mod diff;
mod entry;
mod fleet;
mod frame;
mod output;
mod stats;
mod task;
mod tasks;

pub(crate) use activity::{Moment, moments, told};
pub(crate) use diff::DiffPage;
pub(crate) use entry::{EntryPage, TroublePage};
pub(crate) use fleet::FleetPage;
pub(crate) use frame::{Frame, Here};
pub(crate) use output::{OutputPage, Which, range};
pub(crate) use stats::StatsPage;
pub(crate) use task::TaskPage;
pub(crate) use tasks::TasksPage;
