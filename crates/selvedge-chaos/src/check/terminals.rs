//! Invariant 6: terminal states never change.

use std::collections::BTreeMap;

use selvedge_protocol::lease::LeaseEvent;

use crate::history::{History, ListedTask};

pub(super) fn check(history: &History) -> Vec<String> {
    let (mut violations, ended) = changes_after_end(&history.observations);
    for (id, task) in &history.tasks {
        if let Some(before) = ended.get(id.as_str()).filter(|it| **it != task.state) {
            violations.push(format!("{id}: was {before}, and finally {}", task.state));
        }
        let end = task
            .log
            .iter()
            .position(|(_, event)| matches!(event, LeaseEvent::Ended { .. }));
        if let Some((seq, event)) = end.and_then(|end| task.log.get(end + 1)) {
            violations.push(format!("{id}: line {seq} follows its end: {event:?}"));
        }
    }
    violations
}

/// Finds observations that contradict an earlier terminal state, and returns the terminal state of each task.
///
/// Clients ask at the same time, and a response can be delayed by a fault. Only a request that was sent after
/// the response with the terminal state had arrived is certain to have read the database later.
fn changes_after_end(observations: &[ListedTask]) -> (Vec<String>, BTreeMap<&str, &str>) {
    let mut by_task: BTreeMap<&str, Vec<&ListedTask>> = BTreeMap::new();
    for seen in observations {
        by_task.entry(&seen.task).or_default().push(seen);
    }
    let (mut violations, mut ended) = (Vec::new(), BTreeMap::new());
    for (task, seen) in by_task {
        let ends = seen.iter().filter(|it| is_terminal(&it.state));
        let Some(end) = ends.min_by_key(|it| it.received_us) else {
            continue;
        };
        ended.insert(task, end.state.as_str());
        let later = seen
            .iter()
            .filter(|it| it.sent_us > end.received_us || is_terminal(&it.state));
        for other in later.filter(|it| it.state != end.state) {
            violations.push(format!("{task}: was {}, later {}", end.state, other.state));
        }
    }
    (violations, ended)
}

fn is_terminal(state: &str) -> bool {
    matches!(state, "succeeded" | "failed" | "cancelled" | "dead")
}
