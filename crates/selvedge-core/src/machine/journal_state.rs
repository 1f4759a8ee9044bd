//! The state of a journal: of a run or of a plan.

use crate::plan::Plan;
use crate::run::Run;

/// The fold of a journal, starting from an empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalState {
    /// The run, once it has been created.
    pub run: Option<Run>,
    /// The plan, if it is one: it has no run of its own; each subtask has one, in a separate journal.
    pub plan: Option<Plan>,
    /// Sequence number of the last event; 0 if there is none.
    pub seq: u64,
    /// Types of events that this version does not know. A run with any of them can be shown, but not resumed.
    pub unknown: Vec<String>,
}
