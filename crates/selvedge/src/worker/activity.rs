//! What is going on, gathered for the next batch: coalesced, bounded, and counted where it is dropped.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use selvedge_core::fleet::{ProgressEvent, project};
use selvedge_core::machine::Run;
use selvedge_core::model::{Cost, Envelope, Event, Step};
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};

/// Activities in one batch.
const MOST: usize = 128;
/// Text that runs on is one activity up to so many bytes.
const LONGEST_TEXT: usize = 4096;

/// What was gathered.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) activity: Vec<ProgressEvent>,
    pub(super) dropped: u64,
}

/// Gathers a run's activities.
#[derive(Debug, Default)]
pub(super) struct Tap {
    batch: Mutex<Batch>,
    attempt: AtomicU32,
    spent: Mutex<Spent>,
    steps: Mutex<Vec<Step>>,
}

#[derive(Debug, Clone, Copy)]
struct Spent(Cost);

impl Default for Spent {
    fn default() -> Self {
        Self(Cost::ZERO)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tap {
    /// Takes out what was gathered, if anything was.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut batch = held(&self.batch);
        let empty = batch.activity.is_empty() && batch.dropped == 0;
        (!empty).then(|| std::mem::take(&mut *batch))
    }

    /// Drops what was gathered, and counts it.
    pub(super) fn drop_all(&self) {
        let mut batch = held(&self.batch);
        batch.dropped += batch.activity.len() as u64;
        batch.activity.clear();
    }

    /// Something worth a line.
    pub(super) fn note(&self, message: impl Into<String>) {
        self.add(ProgressEvent::Status {
            message: message.into(),
        });
    }

    fn add(&self, event: ProgressEvent) {
        let mut batch = held(&self.batch);
        if let (ProgressEvent::Token { text }, Some(ProgressEvent::Token { text: before })) =
            (&event, batch.activity.last_mut())
            && before.len() + text.len() <= LONGEST_TEXT
        {
            before.push_str(text);
            return;
        }
        if let (ProgressEvent::Cost { .. }, Some(before @ ProgressEvent::Cost { .. })) =
            (&event, batch.activity.last_mut())
        {
            *before = event;
            return;
        }
        if batch.activity.len() >= MOST {
            batch.dropped += 1;
        } else {
            batch.activity.push(event);
        }
    }

    fn check_type(&self, label: &str) -> String {
        let steps = held(&self.steps);
        let step = steps.iter().find(|step| step.label() == label);
        step.map_or("", |step| step.kind.as_str()).to_owned()
    }
}

impl Progress for Tap {
    fn activity(&self, activity: Activity) {
        self.add(match activity {
            Activity::Text(text) => ProgressEvent::Token {
                text: shortened(text),
            },
            Activity::ToolStarted { name, subject } => ProgressEvent::Tool {
                name,
                subject: shortened(subject),
                ok: None,
            },
            Activity::ToolEnded { name, ok } => ProgressEvent::Tool {
                name,
                subject: String::new(),
                ok: Some(ok),
            },
            Activity::ApiRetry {
                attempt,
                max,
                delay_ms,
                reason,
            } => ProgressEvent::ApiRetry {
                attempt,
                max,
                delay_ms,
                text: shortened(reason),
            },
            Activity::Cost(attempt) => ProgressEvent::Cost {
                attempt,
                cumulative: held(&self.spent).0 + attempt,
            },
            Activity::CheckStarted { label } => ProgressEvent::CheckStart {
                text: shortened(label),
                again: false,
            },
            Activity::CheckRepeated { label } => ProgressEvent::CheckStart {
                text: shortened(label),
                again: true,
            },
            Activity::CheckEnded {
                label,
                status,
                reason,
                duration_ms,
            } => ProgressEvent::VerificationCheckResult {
                check_type: self.check_type(&label),
                check_status: status,
                attempt: self.attempt.load(Ordering::Relaxed),
                text: shortened(label),
                reason: reason.map(shortened),
                duration_ms,
            },
            Activity::Note(message) => ProgressEvent::Status {
                message: shortened(message),
            },
        });
    }
}

impl Observer for Tap {
    fn event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::AttemptBegan { run_number, .. } => {
                self.attempt.store(*run_number, Ordering::Relaxed);
                held(&self.spent).0 = run.cost();
            }
            Event::RunCreated { .. } | Event::Resumed { .. } => {
                *held(&self.steps) = run.spec.steps().to_vec();
            }
            _ => {}
        }
        for event in project(envelope, run) {
            self.add(event);
        }
    }
}

/// One activity shows so much and no more.
fn shortened(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        let end = (0..=LONGEST_TEXT)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_runs_on_and_what_is_too_much_is_counted() {
        let tap = Tap::default();
        tap.activity(Activity::Text("a".to_owned()));
        tap.activity(Activity::Text("b".to_owned()));
        for number in 0..2 * MOST {
            tap.activity(Activity::ToolStarted {
                name: number.to_string(),
                subject: String::new(),
            });
        }
        let batch = tap.take().unwrap();
        assert_eq!(
            batch.activity[0],
            ProgressEvent::Token {
                text: "ab".to_owned()
            }
        );
        assert_eq!(
            batch.activity.len() as u64 + batch.dropped,
            1 + 2 * MOST as u64
        );
        assert!(tap.take().is_none());
    }
}
