//! Invariant 12: no attempt begins after an acknowledged cancel; slots and priorities never leak.

use selvedge_protocol::lease::LeaseEvent;

use crate::history::{History, TraceEvent};

/// Milliseconds of waiting time that one step of priority is worth.
const PRIORITY_STEP_MS: i64 = 600_000;

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        let mut cancelled = false;
        for (seq, event) in &task.log {
            match event {
                LeaseEvent::CancelRequested { .. } => cancelled = true,
                LeaseEvent::RunBegun { attempt_number } if cancelled => {
                    violations.push(format!(
                        "{id}: line {seq} starts attempt {attempt_number} after a cancel"
                    ));
                }
                _ => {}
            }
        }
        let acknowledged = history
            .cancellations
            .iter()
            .any(|cancel| &cancel.task == id);
        if acknowledged && !cancelled {
            violations.push(format!("{id}: an acknowledged cancel is missing"));
        }
        if task.rank != task.created_at - i64::from(task.priority) * PRIORITY_STEP_MS {
            violations.push(format!(
                "{id}: its place in the queue does not match priority {}",
                task.priority
            ));
        }
        let submitted = history.submission_of(task);
        if let Some(submit) = submitted.filter(|submit| submit.priority != task.priority) {
            violations.push(format!(
                "{id}: priority {}, expected {}",
                task.priority, submit.priority
            ));
        }
    }
    for (worker, tasks) in &history.final_holdings {
        if !tasks.is_empty() {
            violations.push(format!("{worker}: slots still used by {tasks:?}"));
        }
    }
    violations.extend(overcommitted_workers(history));
    violations
}

/// Finds workers that carried out more tasks at a time than they have slots.
fn overcommitted_workers(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    let mut active_sessions: Vec<(i32, &str, u64)> = Vec::new();
    for trace in &history.traces {
        let key = (trace.pid, trace.task.as_str(), trace.epoch);
        match trace.event {
            TraceEvent::DriveBegan => active_sessions.push(key),
            TraceEvent::DriveEnded => active_sessions.retain(|it| *it != key),
            _ => continue,
        }
        let session_count = active_sessions
            .iter()
            .filter(|(pid, ..)| *pid == trace.pid)
            .count();
        if session_count > history.slots {
            violations.push(format!(
                "{} runs {session_count} tasks with {} slots",
                trace.worker, history.slots
            ));
        }
    }
    violations
}
