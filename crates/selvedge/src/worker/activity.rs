//! Collects a run's activities for the next batch: merged, limited in number, with a count of dropped ones.

use parking_lot::Mutex;
use selvedge_core::model::Envelope;
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use selvedge_protocol::ProgressEvent;

use crate::progress_events::{MAX_TEXT_BYTES, ProgressTracker};

/// Limit for the number of activities in a batch.
const MAX_ACTIVITIES: usize = 128;

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
    tracker: ProgressTracker,
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
}

impl Progress for ActivityBuffer {
    fn on_activity(&self, activity: Activity) {
        self.push(self.tracker.on_activity(activity));
    }
}

impl Observer for ActivityBuffer {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        for event in self.tracker.on_event(envelope, run) {
            self.push(event);
        }
    }
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
