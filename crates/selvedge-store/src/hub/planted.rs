//! The bugs that the fault tests plant in what a change of a task means, to see that the checker finds
//! them. Without the feature `faults` none of them is ever there, and all of this compiles to nothing.

use selvedge_core::fleet::{CostEntry, TaskState};
use selvedge_core::lease::{Fence, LeaseEvent, evolve};
use selvedge_core::model::Outcome;

use super::change::{Step, Written};
use super::rows::TaskRow;
use crate::fault::planted;

/// A line of the log is left out.
pub(super) fn unlogged(event: &LeaseEvent) -> bool {
    matches!(event, LeaseEvent::Accepted) && planted("skip_log")
}

/// The hub forgets for a moment that the task was cancelled.
pub(super) fn forgotten_cancel(row: &mut TaskRow) -> Option<String> {
    if planted("begin_when_cancelled") {
        row.lease.cancel.take()
    } else {
        None
    }
}

/// A report is not kept as it came.
pub(super) fn altered(mut body: String) -> String {
    if planted("alter_report") {
        body.push(' ');
    }
    body
}

/// A call is counted under two names.
pub(super) fn counted(costs: Vec<CostEntry>) -> Vec<CostEntry> {
    if !planted("count_twice") {
        return costs;
    }
    let again = costs.iter().map(|cost| CostEntry {
        call_id: format!("{}-again", cost.call_id),
        ..cost.clone()
    });
    costs.iter().cloned().chain(again).collect()
}

/// The end that a worker of an earlier grant reports is taken for the holder's.
pub(super) fn taken_for_holder(row: &TaskRow, fence: &mut Fence, step: &Step) -> bool {
    let stale = matches!(step, Step::Complete { .. }) && row.lease.is_held();
    if !stale || !planted("stale_complete") {
        return false;
    }
    fence.epoch = row.lease.epoch;
    fence.token = row.lease.token.clone().unwrap_or_default();
    true
}

/// A task that is over is cancelled all the same.
pub(super) fn reopened(row: &mut TaskRow, written: &mut Written) -> bool {
    if !row.lease.state.is_terminal() || !planted("reopen_ended") {
        return false;
    }
    let (by, reason) = ("nobody".to_owned(), "planted".to_owned());
    let ended = LeaseEvent::Ended {
        state: TaskState::Cancelled,
        outcome: Outcome::Cancelled,
    };
    for event in [LeaseEvent::CancelRequested { by, reason }, ended] {
        row.lease = evolve(std::mem::take(&mut row.lease), &event);
        row.log_seq += 1;
        written.log.push((row.log_seq, event));
    }
    written.row = true;
    true
}
