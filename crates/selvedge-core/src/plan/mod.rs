//! A task that is made of subtasks: whether it makes sense, how it stands, and what comes next.
//!
//! Each subtask is a run of its own, with its own journal, in the same workspace, one after the other.
//! A plan's journal says only which run a subtask became and how that ended; everything else is
//! derived. Nothing here begins or ends anything: `selvedge-engine` does what [`Plan::next`] says.

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
pub use subtask::{final_tree, subtask_as_task};
