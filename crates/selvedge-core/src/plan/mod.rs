//! Plans of several subtasks: validation, state and scheduling.
//!
//! Each subtask is a separate run with its own journal, one after the other in the same workspace. A plan's journal
//! only records the run of each subtask and its result; everything else is derived. This module has no effects:
//! `selvedge-engine` carries out [`Plan::next`].

mod best_of_n;
mod graph;
mod result;
mod schedule;
mod state;
mod subtask;

#[cfg(test)]
mod tests;

pub use best_of_n::{LeadingSubtask, Selection, describe_behaviour};
pub use graph::{PlanError, check_subtasks};
pub use result::all_unchanged;
pub use schedule::{
    ScheduleDecision, SubtaskNode, blocked_by, decide_next, remaining_plan_budget,
    unblocks_dependents,
};
pub use state::{Plan, PlanStep, SubtaskState};
pub(crate) use state::{create_plan, fold};
pub use subtask::subtask_as_task;
