//! Mutants for the fault tests: bugs in applying a change of a task, which show that the checker detects
//! them. Without the feature `faults` none of them can be active, and all of this compiles to nothing.

use selvedge_core::lease::{LeaseEvent, evolve};
use selvedge_core::model::Outcome;
use selvedge_core::protocol::{CostEntry, EntryKind, LeaseToken, TaskState};

use super::change::WriteSet;
use super::rows::TaskRecord;
use crate::fault::is_mutant_active;

/// Mutant: omits a line of the log.
pub(super) fn skips_log(event: &LeaseEvent) -> bool {
    matches!(event, LeaseEvent::Accepted) && is_mutant_active("skip_log")
}

/// Mutant: forgets temporarily that the task was cancelled.
pub(super) fn take_cancel(row: &mut TaskRecord) -> Option<String> {
    if is_mutant_active("begin_when_cancelled") {
        row.lease.cancel.take()
    } else {
        None
    }
}

/// Mutant: changes a report before it is stored.
pub(super) fn alter_report(mut body: String) -> String {
    if is_mutant_active("alter_report") {
        body.push(' ');
    }
    body
}

/// Mutant: counts a call twice, under two names.
pub(super) fn duplicate_costs(costs: Vec<CostEntry>) -> Vec<CostEntry> {
    if !is_mutant_active("count_twice") {
        return costs;
    }
    let again = costs.iter().map(|cost| CostEntry {
        call_id: format!("{}-again", cost.call_id),
        ..cost.clone()
    });
    costs.iter().cloned().chain(again).collect()
}

/// Mutant: accepts a completion that was sent under an earlier lease.
pub(super) fn accepts_stale_completion(
    row: &TaskRecord,
    token: &mut LeaseToken,
    kind: &EntryKind,
) -> bool {
    let stale = matches!(kind, EntryKind::Complete(_)) && row.lease.is_held();
    if !stale || !is_mutant_active("stale_complete") {
        return false;
    }
    *token = row.lease_token();
    true
}

/// Mutant: cancels a task that is already finished.
pub(super) fn reopens_ended(row: &mut TaskRecord, written: &mut WriteSet) -> bool {
    if !row.lease.state.is_terminal() || !is_mutant_active("reopen_ended") {
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
