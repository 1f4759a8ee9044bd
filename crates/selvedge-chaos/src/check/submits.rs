//! Invariant 1: every acknowledged submission exists after any fault, once for each idempotency key.

use std::collections::BTreeMap;

use crate::history::History;

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for submit in &history.submissions {
        let Some(task) = &submit.task_id else {
            continue;
        };
        let before = named.insert(&submit.key, task);
        if let Some(before) = before.filter(|before| before != task) {
            violations.push(format!(
                "key {} returned task {before} and later {task}",
                submit.key
            ));
        }
        match history.tasks.get(task) {
            None => violations.push(format!("key {}: task {task} is missing", submit.key)),
            Some(kept) if kept.submission_key() != Some(submit.key.as_str()) => {
                violations.push(format!(
                    "key {}: task {task} is a different one: {:?}",
                    submit.key, kept.description
                ));
            }
            Some(_) => {}
        }
    }
    let mut kept: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, task) in &history.tasks {
        kept.entry(task.submission_key().unwrap_or("none"))
            .or_default()
            .push(id);
    }
    for (key, tasks) in kept {
        if tasks.len() > 1 {
            violations.push(format!(
                "key {key} created {} tasks: {tasks:?}",
                tasks.len()
            ));
        }
        if !history.submissions.iter().any(|submit| submit.key == key) {
            violations.push(format!("key {key} was never submitted"));
        }
    }
    violations
}
