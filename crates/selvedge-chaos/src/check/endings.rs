//! Invariant 2: every task reaches a terminal state once faults stop. A plan ends after its subtasks,
//! in a state that fits theirs.

use crate::history::{History, ObservedTask};

pub(super) fn check(history: &History) -> Vec<String> {
    let open = history.tasks.iter().filter(|(_, task)| !task.is_over());
    let mut violations: Vec<String> = open
        .map(|(id, task)| format!("{id} is still {} after {} leases", task.state, task.epoch))
        .collect();
    for (id, task) in &history.tasks {
        let errors = check_plan(task, history);
        violations.extend(errors.into_iter().map(|what| format!("{id}: {what}")));
    }
    violations
}

/// The second subtask depends on the first; the others have no dependencies.
fn check_plan(plan: &ObservedTask, history: &History) -> Vec<String> {
    let wanted = history
        .submission_of(plan)
        .map_or(0, |submit| submit.subtask_count);
    let parts = history.subtasks_of(plan);
    let mut violations = Vec::new();
    if plan.is_over() {
        let open = parts.iter().filter(|(_, part)| !part.is_over());
        violations.extend(open.map(|(number, part)| {
            format!(
                "is {}, but its subtask {number} is {}",
                plan.state, part.state
            )
        }));
    }
    let done = |number: &usize| {
        parts
            .get(number)
            .is_some_and(|part| part.state == "succeeded")
    };
    let all = (0..wanted).all(|number| done(&number));
    let fits = match plan.state.as_str() {
        "succeeded" => all,
        "cancelled" => true,
        _ => !all,
    };
    if wanted > 0 && !fits {
        let states: Vec<_> = parts
            .iter()
            .map(|(number, part)| (number, &part.state))
            .collect();
        violations.push(format!(
            "is {}, but its {wanted} subtasks are {states:?}",
            plan.state
        ));
    }
    if parts.contains_key(&1) && !done(&0) {
        violations.push("its subtask 1 started, but 0 was not verified".to_owned());
    }
    violations
}
