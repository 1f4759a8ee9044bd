//! Invariant 8: every finished run has one immutable report; every acknowledged report reads back byte
//! for byte.

use sha2::{Digest, Sha256};

use crate::history::{History, ObservedTask, TraceEvent};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        for run in &task.runs {
            let count = task
                .reports
                .iter()
                .filter(|report| report.run == run.number)
                .count();
            let wanted = usize::from(run.closing.as_deref() == Some("report"));
            if count != wanted {
                violations.push(format!(
                    "{id}: attempt {} is closed as {:?} with {count} reports",
                    run.number, run.closing
                ));
            }
        }
        for report in &task.reports {
            if Sha256::digest(report.body.as_bytes())[..] != report.digest[..] {
                violations.push(format!(
                    "{id}: report {} does not match its hash",
                    report.run
                ));
            }
        }
    }
    for read in &history.reports_read {
        let stored = history
            .tasks
            .get(&read.task)
            .and_then(|task| report_body(task, read.run));
        if stored != Some(read.body.as_str()) {
            violations.push(format!(
                "{}: report {} differs from an earlier read",
                read.task, read.run
            ));
        }
    }
    violations.extend(check_acknowledged(history));
    violations
}

fn report_body(task: &ObservedTask, run: u32) -> Option<&str> {
    let report = task.reports.iter().find(|report| report.run == run);
    report.map(|report| report.body.as_str())
}

/// Checks the reports whose storage was acknowledged to workers.
fn check_acknowledged(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for trace in &history.traces {
        let TraceEvent::Report {
            seq,
            run,
            body: acknowledged,
        } = &trace.event
        else {
            continue;
        };
        let acked = history.traces.iter().any(|it| {
            (&it.task, it.epoch) == (&trace.task, trace.epoch)
                && matches!(it.event, TraceEvent::Acked(acked) if acked >= *seq)
        });
        let current = history
            .tasks
            .get(&trace.task)
            .and_then(|task| report_body(task, *run));
        if acked && current != Some(acknowledged.as_str()) {
            violations.push(format!(
                "{}: report {run} differs from the acknowledged one or is missing",
                trace.task
            ));
        }
    }
    violations
}
