//! The pages as plain values for their templates. Untrusted text passes through [`crate::text`] on its way
//! into a value; the templates escape everything again.

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

pub(crate) use activity::{ActivityItem, items_from_events, parse_transcript};
pub(crate) use diff::DiffPage;
pub(crate) use entry::{ErrorPage, LoginPage};
pub(crate) use fleet::FleetPage;
pub(crate) use frame::{NavItem, PageFrame};
pub(crate) use output::{OutputHeader, OutputPage, page_range};
pub(crate) use stats::StatsPage;
pub(crate) use task::TaskDetailPage;
pub(crate) use tasks::TaskListPage;
