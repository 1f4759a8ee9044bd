//! Invariant 5: a write of epoch e changes no state after e+1 is granted, or while no worker holds the
//! task.

use selvedge_core::model::AttemptEnd;
use selvedge_protocol::lease::LeaseEvent;

use crate::history::{History, ObservedTask};

pub(super) fn check(history: &History) -> Vec<String> {
    let of_task = |(id, task): (&String, &ObservedTask)| {
        let violations = check_task(task);
        violations
            .into_iter()
            .map(move |what| format!("{id}: {what}"))
            .collect::<Vec<_>>()
    };
    history.tasks.iter().flat_map(of_task).collect()
}

fn check_task(task: &ObservedTask) -> Vec<String> {
    let mut violations = Vec::new();
    let (mut current, mut is_held) = (0, false);
    for (seq, event) in &task.log {
        let written = match event {
            LeaseEvent::Granted { epoch, .. } => {
                (current, is_held) = (*epoch, true);
                continue;
            }
            LeaseEvent::LeaseLost { .. } | LeaseEvent::OfferExpired | LeaseEvent::Ended { .. } => {
                is_held = false;
                continue;
            }
            LeaseEvent::Accepted => Some(current),
            LeaseEvent::RunBegun { attempt_number } => {
                let run = task.runs.iter().find(|run| run.number == *attempt_number);
                run.map(|run| run.epoch)
            }
            LeaseEvent::RunClosed {
                attempt_number,
                closing: AttemptEnd::Report,
                ..
            } => {
                let report = task
                    .reports
                    .iter()
                    .find(|report| report.run == *attempt_number);
                report.map(|report| report.epoch)
            }
            LeaseEvent::Completed { completion_id, .. } => {
                let epoch = completion_id
                    .rsplit_once('.')
                    .and_then(|(_, it)| it.parse().ok());
                Some(epoch.unwrap_or(current))
            }
            _ => continue,
        };
        if !is_held {
            violations.push(format!("line {seq}: {event:?} without a lease"));
        }
        // Missing runs and reports are violations of other invariants.
        if let Some(epoch) = written.filter(|epoch| *epoch != current) {
            violations.push(format!(
                "line {seq}: {event:?} of epoch {epoch} during epoch {current}"
            ));
        }
    }
    violations
}
