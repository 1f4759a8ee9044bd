//! Invariant 9: the attempts that are charged are exactly the completed verifications. Crashes neither
//! consume nor refund an attempt.

use crate::history::{History, ObservedTask};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        violations.extend(
            check_task(task, history)
                .into_iter()
                .map(|what| format!("{id}: {what}")),
        );
        let submitted = history.submission_of(task);
        if let Some(submit) = submitted.filter(|it| it.max_attempts != task.max_attempts) {
            violations.push(format!(
                "{id}: submitted with at most {} attempts, stored with {}",
                submit.max_attempts, task.max_attempts
            ));
        }
    }
    violations
}

fn check_task(task: &ObservedTask, history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    let closed = |run: &&crate::history::ObservedAttempt| run.closing.as_deref() == Some("report");
    let completed = task.runs.iter().filter(closed).count();
    let spent = usize::try_from(task.reports_counted).unwrap_or(usize::MAX);
    let most = usize::try_from(task.max_attempts).unwrap_or(usize::MAX);
    if spent != completed {
        violations.push(format!(
            "{spent} reports counted, {completed} attempts were verified"
        ));
    }
    if spent > most {
        violations.push(format!("{spent} reports counted, the maximum is {most}"));
    }
    let is_plan = history
        .submission_of(task)
        .is_some_and(|submit| submit.subtask_count > 0);
    if task.outcome.as_deref() == Some("max_retries_exhausted") && spent != most && !is_plan {
        violations.push(format!("ended as out of attempts after {spent} of {most}"));
    }
    let counted = task.completion.as_ref();
    let result = counted.and_then(|id| task.results.iter().find(|(of, _)| of == id));
    let reported_attempts = result.and_then(|(_, body)| body["verification_attempts"].as_u64());
    let of_parts = history.subtasks_of(task);
    let of_parts = of_parts
        .values()
        .map(|part| u64::from(part.reports_counted));
    let expected_attempts = u64::from(task.reports_counted) + of_parts.sum::<u64>();
    if let Some(reported_attempts) =
        reported_attempts.filter(|reported_attempts| *reported_attempts != expected_attempts)
    {
        violations.push(format!(
            "the result reports {reported_attempts} attempts, {expected_attempts} are counted"
        ));
    }
    violations
}
