//! The pages as plain values for their templates. Untrusted text passes through [`crate::text`] on its way
//! into a value; the templates escape everything again.

mod activity;
mod attempt;
mod compare;
mod costs;
mod diff;
mod entry;
mod fleet;
mod frame;
mod insights;
mod new_task;
mod output;
mod review;
mod sections;
mod session;
mod source;
mod stats;
mod story;
mod task;
mod tasks;

pub(crate) use activity::{ActivityItem, items_from_events, parse_transcript};
pub(crate) use compare::ComparePage;
pub(crate) use diff::DiffPage;
pub(crate) use entry::{ErrorPage, LoginPage};
pub(crate) use fleet::FleetPage;
pub(crate) use frame::{NavItem, PageFrame};
pub(crate) use new_task::{NewTaskForm, NewTaskPage};
pub(crate) use output::{
    OutputHeader, OutputLines, OutputMatch, OutputPage, count_lines, last_page, page_of_offset,
    page_range, page_starts,
};
pub(crate) use review::ReviewPage;
pub(crate) use sections::{plain_text, section_heading};
pub(crate) use session::{SessionHeader, TracePage};
pub(crate) use source::{SourceKind, SourcePage};
pub(crate) use stats::StatsPage;
pub(crate) use story::AttemptChanges;
pub(crate) use task::{HeldDecision, TaskDetailPage};
pub(crate) use tasks::TaskListPage;
