//! Invariant 3: at most one `(task, epoch)` is live; epochs strictly increase.

use std::collections::BTreeMap;

use selvedge_protocol::lease::LeaseEvent;

use crate::history::{History, ObservedTask, TraceEvent};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        violations.extend(
            check_task(task)
                .into_iter()
                .map(|what| format!("{id}: {what}")),
        );
    }
    let mut holders: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    for trace in history
        .traces
        .iter()
        .filter(|it| it.event == TraceEvent::DriveBegan)
    {
        let worker = trace.worker.as_str();
        let before = holders.insert((&trace.task, trace.epoch), worker);
        if let Some(before) = before.filter(|before| *before != worker) {
            violations.push(format!(
                "{}: lease epoch {} was used by {before} and by {worker}",
                trace.task, trace.epoch
            ));
        }
    }
    violations
}

fn check_task(task: &ObservedTask) -> Vec<String> {
    let mut violations = Vec::new();
    let (mut last, mut live) = (0, false);
    for (seq, event) in &task.log {
        match event {
            LeaseEvent::Granted { epoch, .. } => {
                if live {
                    violations.push(format!("line {seq}: assigned while epoch {last} was live"));
                }
                if *epoch != last + 1 {
                    violations.push(format!("line {seq}: epoch {epoch} follows epoch {last}"));
                }
                (last, live) = (*epoch, true);
            }
            LeaseEvent::OfferExpired
            | LeaseEvent::LeaseLost { .. }
            | LeaseEvent::Completed { .. }
            | LeaseEvent::Ended { .. } => live = false,
            _ => {}
        }
    }
    if task.epoch != last {
        violations.push(format!(
            "its epoch is {}, the last assigned one is {last}",
            task.epoch
        ));
    }
    violations
}
