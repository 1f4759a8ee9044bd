//! Collects a run's activities for the next batch: merged, limited in number, with a count of dropped ones.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use selvedge_core::model::{Cost, Envelope, Event, Step};
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use selvedge_protocol::{ProgressEvent, project};

/// Limit for the number of activities in a batch.
const MAX_ACTIVITIES: usize = 128;
/// Length limit for the text of one activity, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// The collected activities.
#[derive(Debug, Default)]
pub(super) struct ActivityBatch {
    pub(super) activity: Vec<ProgressEvent>,
    pub(super) dropped: u64,
}

/// Collects a run's activities.
#[derive(Debug, Default)]
pub(super) struct ActivityBuffer {
    batch: Mutex<ActivityBatch>,
    attempt: AtomicU32,
    cost_before_attempt: Mutex<AccumulatedCost>,
    steps: Mutex<Vec<Step>>,
}

#[derive(Debug, Clone, Copy)]
struct AccumulatedCost(Cost);

impl Default for AccumulatedCost {
    fn default() -> Self {
        Self(Cost::ZERO)
    }
}

impl ActivityBuffer {
    /// Takes the collected activities; `None` if there are none.
    pub(super) fn take(&self) -> Option<ActivityBatch> {
        let mut batch = self.batch.lock();
        let empty = batch.activity.is_empty() && batch.dropped == 0;
        (!empty).then(|| std::mem::take(&mut *batch))
    }

    /// Drops the collected activities, and counts them.
    pub(super) fn discard(&self) {
        let mut batch = self.batch.lock();
        batch.dropped += batch.activity.len() as u64;
        batch.activity.clear();
    }

    /// Adds a message.
    pub(super) fn push_note(&self, message: impl Into<String>) {
        self.push(ProgressEvent::Status {
            message: message.into(),
        });
    }

    fn push(&self, event: ProgressEvent) {
        let mut batch = self.batch.lock();
        if let (ProgressEvent::Token { text }, Some(ProgressEvent::Token { text: previous })) =
            (&event, batch.activity.last_mut())
            && previous.len() + text.len() <= MAX_TEXT_BYTES
        {
            previous.push_str(text);
            return;
        }
        if let (ProgressEvent::Cost { .. }, Some(previous @ ProgressEvent::Cost { .. })) =
            (&event, batch.activity.last_mut())
        {
            *previous = event;
            return;
        }
        if batch.activity.len() >= MAX_ACTIVITIES {
            batch.dropped += 1;
        } else {
            batch.activity.push(event);
        }
    }

    fn check_type(&self, label: &str) -> String {
        let steps = self.steps.lock();
        let step = steps.iter().find(|step| step.label() == label);
        step.map_or("", |step| step.kind.as_str()).to_owned()
    }
}

impl Progress for ActivityBuffer {
    fn on_activity(&self, activity: Activity) {
        self.push(match activity {
            Activity::Text(text) => ProgressEvent::Token {
                text: truncate_text(text),
            },
            Activity::ToolStarted { name, subject } => ProgressEvent::Tool {
                name,
                subject: truncate_text(subject),
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
                text: truncate_text(reason),
            },
            Activity::Cost(attempt) => ProgressEvent::Cost {
                attempt,
                cumulative: self.cost_before_attempt.lock().0 + attempt,
            },
            Activity::CheckStarted { label } => ProgressEvent::CheckStart {
                text: truncate_text(label),
                again: false,
            },
            Activity::CheckRepeated { label } => ProgressEvent::CheckStart {
                text: truncate_text(label),
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
                text: truncate_text(label),
                reason: reason.map(truncate_text),
                duration_ms,
            },
            Activity::Note(message) => ProgressEvent::Status {
                message: truncate_text(message),
            },
        });
    }
}

impl Observer for ActivityBuffer {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::AttemptBegan { attempt_number, .. } => {
                self.attempt.store(*attempt_number, Ordering::Relaxed);
                self.cost_before_attempt.lock().0 = run.cost();
            }
            Event::RunCreated { .. } | Event::Resumed { .. } => {
                *self.steps.lock() = run.spec.steps().to_vec();
            }
            _ => {}
        }
        for event in project(envelope, run) {
            self.push(event);
        }
    }
}

/// Truncates text to [`MAX_TEXT_BYTES`].
fn truncate_text(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_buffer_joins_text_and_counts_dropped() {
        let buffer = ActivityBuffer::default();
        buffer.on_activity(Activity::Text("a".to_owned()));
        buffer.on_activity(Activity::Text("b".to_owned()));
        for number in 0..2 * MAX_ACTIVITIES {
            buffer.on_activity(Activity::ToolStarted {
                name: number.to_string(),
                subject: String::new(),
            });
        }
        let batch = buffer.take().unwrap();
        assert_eq!(
            batch.activity[0],
            ProgressEvent::Token {
                text: "ab".to_owned()
            }
        );
        assert_eq!(
            batch.activity.len() as u64 + batch.dropped,
            1 + 2 * MAX_ACTIVITIES as u64
        );
        assert!(buffer.take().is_none());
    }
}
