//! Turns a run's activities and events into progress events, as workers send them and as `--format jsonl` prints them.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use selvedge_core::model::{Cost, Envelope, Event, Step};
use selvedge_core::run::Run;
use selvedge_engine::activity::Activity;
use selvedge_protocol::{ProgressEvent, project};

/// Length limit for the text of one event, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 4096;

/// Data of a run in its progress events, apart from the activity.
#[derive(Debug)]
pub(crate) struct ProgressTracker {
    attempt: AtomicU32,
    cost_before_attempt: Mutex<Cost>,
    steps: Mutex<Vec<Step>>,
}

impl Default for ProgressTracker {
    fn default() -> Self {
        Self {
            attempt: AtomicU32::default(),
            cost_before_attempt: Mutex::new(Cost::ZERO),
            steps: Mutex::default(),
        }
    }
}

impl ProgressTracker {
    /// Returns the progress events for a journal event. `run` is the run after the event.
    pub(crate) fn on_event(&self, envelope: &Envelope, run: &Run) -> Vec<ProgressEvent> {
        match &envelope.event {
            Event::AttemptBegan { attempt_number, .. } => {
                self.attempt.store(*attempt_number, Ordering::Relaxed);
                *self.cost_before_attempt.lock() = run.cost();
            }
            Event::RunCreated { .. } | Event::Resumed { .. } => {
                *self.steps.lock() = run.spec.steps().to_vec();
            }
            _ => {}
        }
        project(envelope, run)
    }

    /// Returns the progress event for an activity.
    pub(crate) fn on_activity(&self, activity: Activity) -> ProgressEvent {
        match activity {
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
                cumulative: *self.cost_before_attempt.lock() + attempt,
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
        }
    }

    fn check_type(&self, label: &str) -> String {
        let steps = self.steps.lock();
        let step = steps.iter().find(|step| step.label() == label);
        step.map_or("", |step| step.kind.as_str()).to_owned()
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
