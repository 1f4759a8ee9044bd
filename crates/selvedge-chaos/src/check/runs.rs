//! Invariant 7: run numbers are 1..n, without gaps and unique; every started agent has a committed
//! `begin_run`, and a number starts an agent at most once.

use std::collections::BTreeMap;

use selvedge_protocol::lease::LeaseEvent;

use crate::history::History;

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        let numbers: Vec<u32> = task.runs.iter().map(|run| run.number).collect();
        let expected_numbers: Vec<u32> = (1..=task.last_run).collect();
        if numbers != expected_numbers {
            violations.push(format!(
                "{id}: its attempts are {numbers:?}, but {} were started",
                task.last_run
            ));
        }
        let begun = task.log.iter().filter_map(|(_, event)| match event {
            LeaseEvent::RunBegun { attempt_number } => Some(*attempt_number),
            _ => None,
        });
        let begun: Vec<u32> = begun.collect();
        if begun != expected_numbers {
            violations.push(format!("{id}: its log starts the attempts {begun:?}"));
        }
    }
    let mut started: BTreeMap<(&str, u32), &str> = BTreeMap::new();
    for call in &history.calls {
        let key = (call.task.as_str(), call.run);
        if let Some(before) = started.insert(key, &call.worker) {
            violations.push(format!(
                "{}: attempt {} started an agent on {before} and again on {}",
                call.task, call.run, call.worker
            ));
        }
        let task = history.tasks.get(&call.task);
        let holder = task.and_then(|task| task.holder_at_run(call.run));
        if holder != Some(call.worker.as_str()) {
            violations.push(format!(
                "{}: {} started an agent for attempt {}, which belongs to {holder:?}",
                call.task, call.worker, call.run
            ));
        }
    }
    violations
}
