//! 2: every task reaches a terminal state once faults stop.

use crate::history::History;

pub(super) fn check(history: &History) -> Vec<String> {
    let open = history.tasks.iter().filter(|(_, task)| !task.is_over());
    open.map(|(id, task)| format!("{id} is still {}, after {} grants", task.state, task.epoch))
        .collect()
}
