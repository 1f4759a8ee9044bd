//! Invariant 11: the event log is append-only and has no gaps; replaying it reproduces the task table;
//! the run's journal agrees with the table about every attempt.

use selvedge_core::machine;
use selvedge_core::model::{AttemptEnd, Envelope};
use selvedge_protocol::TaskState;
use selvedge_protocol::lease::{LeaseState, evolve};

use crate::history::{History, ObservedTask};

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, task) in &history.tasks {
        let errors = sequence_gaps(task)
            .into_iter()
            .chain(replay_mismatches(task))
            .chain(attempt_mismatches(task));
        violations.extend(errors.map(|what| format!("{id}: {what}")));
    }
    for line in &history.lines {
        let Some(task) = history.tasks.get(&line.task) else {
            continue;
        };
        let stored = if line.of_journal {
            let stored = task.journal.iter().find(|(seq, _)| *seq == line.seq);
            stored.and_then(|(_, event)| serde_json::from_str(event).ok())
        } else {
            let stored = task.log.iter().find(|(seq, _)| *seq == line.seq);
            stored.and_then(|(_, event)| serde_json::to_value(event).ok())
        };
        if stored.as_ref() != Some(&line.event) {
            violations.push(format!(
                "{}: line {} of the {} was {}, now {stored:?}",
                line.task,
                line.seq,
                if line.of_journal { "journal" } else { "log" },
                line.event
            ));
        }
    }
    violations
}

fn sequence_gaps(task: &ObservedTask) -> Vec<String> {
    let log = task.log.iter().map(|(seq, _)| *seq);
    let journal = task.journal.iter().map(|(seq, _)| *seq);
    let mut violations = Vec::new();
    if !log.eq(1..=task.log_seq) {
        violations.push(format!(
            "its log has gaps: {} lines of {}",
            task.log.len(),
            task.log_seq
        ));
    }
    if !journal.eq(1..=task.event_seq) {
        violations.push(format!(
            "its journal has gaps: {} events of {}",
            task.journal.len(),
            task.event_seq
        ));
    }
    violations
}

fn replay_mismatches(task: &ObservedTask) -> Vec<String> {
    let lease = task
        .log
        .iter()
        .fold(LeaseState::default(), |lease, (_, event)| {
            evolve(lease, event)
        });
    let word = |state: TaskState| state.as_str().to_owned();
    let outcome = lease.outcome.map(|outcome| outcome.as_str().to_owned());
    let pairs = [
        ("state", word(lease.state), task.state.clone()),
        ("epoch", lease.epoch.to_string(), task.epoch.to_string()),
        (
            "worker",
            format!("{:?}", lease.worker),
            format!("{:?}", task.worker),
        ),
        (
            "last run",
            lease.last_attempt.to_string(),
            task.last_run.to_string(),
        ),
        (
            "open run",
            format!("{:?}", lease.open_attempt),
            format!("{:?}", task.open_run),
        ),
        (
            "reports",
            lease.reports.to_string(),
            task.reports_counted.to_string(),
        ),
        ("losses", lease.losses.to_string(), task.losses.to_string()),
        (
            "cancel",
            format!("{:?}", lease.cancel),
            format!("{:?}", task.cancel),
        ),
        (
            "completion",
            format!("{:?}", lease.completion),
            format!("{:?}", task.completion),
        ),
        (
            "outcome",
            format!("{outcome:?}"),
            format!("{:?}", task.outcome),
        ),
    ];
    let differ = pairs
        .into_iter()
        .filter(|(_, replayed, kept)| replayed != kept);
    differ
        .map(|(name, replayed, kept)| {
            format!("replaying its log gives {name} {replayed}, the table has {kept}")
        })
        .collect()
}

/// Finds attempts about which the journal and the table disagree. The journal may lack the end of an
/// attempt that the hub closed alone because the worker was gone.
fn attempt_mismatches(task: &ObservedTask) -> Vec<String> {
    let mut state = machine::JournalState::default();
    for (seq, event) in &task.journal {
        match serde_json::from_str::<Envelope>(event) {
            Ok(envelope) if envelope.seq == *seq => state = machine::evolve(state, &envelope),
            Ok(envelope) => {
                return vec![format!(
                    "event {seq} of its journal has the number {}",
                    envelope.seq
                )];
            }
            Err(error) => {
                return vec![format!("cannot read event {seq} of its journal: {error}")];
            }
        }
    }
    let Some(run) = &state.run else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for attempt in &run.attempts {
        let stored = task
            .runs
            .iter()
            .find(|run| run.number == attempt.attempt_number);
        let stored = stored.and_then(|run| run.closing.as_deref());
        let expected_end = attempt.end.map(|closing| match closing {
            AttemptEnd::Report => "report",
            AttemptEnd::SessionFailed => "session_failed",
            AttemptEnd::Interrupted => "interrupted",
            AttemptEnd::UsageLimit => "usage_limit",
            AttemptEnd::Cancelled => "cancelled",
        });
        let may_be_missing =
            expected_end.is_none() && stored != Some("report") && task.state != "succeeded";
        if expected_end != stored && !may_be_missing {
            violations.push(format!(
                "attempt {} is {expected_end:?} in its journal but {stored:?} in the table",
                attempt.attempt_number
            ));
        }
    }
    violations
}
