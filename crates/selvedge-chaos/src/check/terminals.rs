//! Invariant 6: terminal states never change.

use std::collections::BTreeMap;

use selvedge_core::lease::LeaseEvent;

use crate::history::History;

pub(super) fn check(history: &History) -> Vec<String> {
    let mut found = Vec::new();
    let over = |state: &str| matches!(state, "succeeded" | "failed" | "cancelled" | "dead");
    let mut seen: Vec<_> = history.observations.iter().collect();
    seen.sort_by_key(|seen| seen.at_us);
    let mut ended: BTreeMap<&str, &str> = BTreeMap::new();
    for one in seen {
        if let Some(before) = ended.get(one.task.as_str()).filter(|it| **it != one.state) {
            found.push(format!(
                "{}: was {before}, and then {}",
                one.task, one.state
            ));
        }
        if over(&one.state) {
            ended.insert(&one.task, &one.state);
        }
    }
    for (id, task) in &history.tasks {
        if let Some(before) = ended.get(id.as_str()).filter(|it| **it != task.state) {
            found.push(format!(
                "{id}: was {before}, and is {} in the end",
                task.state
            ));
        }
        let end = task
            .log
            .iter()
            .position(|(_, event)| matches!(event, LeaseEvent::Ended { .. }));
        if let Some((seq, event)) = end.and_then(|end| task.log.get(end + 1)) {
            found.push(format!("{id}: line {seq} comes after its end: {event:?}"));
        }
    }
    found
}
