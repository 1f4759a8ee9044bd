//! A task that is made of subtasks: whether it makes sense, how it stands, and what comes next.
//!
//! Each subtask is a run of its own, with its own journal, in the same workspace, one after the other.
//! A plan's journal says only which run a subtask became and how that ended; everything else is
//! derived. Nothing here begins or ends anything: `selvedge-engine` does what [`Plan::next`] says.

mod contest;
mod graph;
mod order;
mod part;
mod result;
mod state;

#[cfg(test)]
mod tests;

pub use contest::{Choice, Standing, behaviour};
pub use graph::{BadPlan, check};
pub use order::{Node, Turn, blocked_by, budget_left, holds, turn};
pub use part::{left_by, part};
pub use result::all_unchanged;
pub use state::{Next, Part, Plan};
pub(crate) use state::{created, fold};
