//! The latest activity of running tasks, for task pages. It is in memory, bounded, and lost with the hub: it
//! shows work in progress and is never evidence. Only the hub that a worker is connected to receives it.

use std::collections::{HashMap, VecDeque};

use selvedge_core::model::TaskId;
use selvedge_protocol::ProgressEvent;

/// Maximum number of events of one task.
const MAX_EVENTS: usize = 60;
/// Maximum bytes of text of one task. Invariant: with [`MAX_TASKS`], the total stays below 8 MiB.
const MAX_TEXT_BYTES: usize = 12 * 1024;
/// Maximum number of tasks; beyond it, the task without activity for the longest time is removed.
const MAX_TASKS: usize = 512;

/// The latest activity by task.
#[derive(Debug, Default)]
pub(crate) struct RecentActivity {
    tasks: HashMap<TaskId, TaskActivity>,
    clock: u64,
}

#[derive(Debug, Default)]
struct TaskActivity {
    events: VecDeque<ProgressEvent>,
    text: usize,
    version: u64,
}

impl RecentActivity {
    /// Records a worker's activity in a task.
    pub(crate) fn record(&mut self, task: TaskId, events: &[ProgressEvent]) {
        if !self.tasks.contains_key(&task) && self.tasks.len() >= MAX_TASKS {
            let silent = self.tasks.iter().min_by_key(|(_, told)| told.version);
            if let Some(silent) = silent.map(|(task, _)| *task) {
                self.tasks.remove(&silent);
            }
        }
        self.clock += 1;
        let told = self.tasks.entry(task).or_default();
        told.version = self.clock;
        for event in events {
            told.push_event(event);
        }
    }

    /// The latest events, oldest first.
    pub(crate) fn latest(&self, task: TaskId) -> Vec<ProgressEvent> {
        let told = self.tasks.get(&task);
        told.map_or_else(Vec::new, |told| told.events.iter().cloned().collect())
    }

    /// Version of the activity; increases with every event.
    pub(crate) fn version(&self, task: TaskId) -> u64 {
        self.tasks.get(&task).map_or(0, |told| told.version)
    }

    /// Removes a task that is no longer running.
    pub(crate) fn forget(&mut self, task: TaskId) {
        self.tasks.remove(&task);
    }
}

impl TaskActivity {
    fn push_event(&mut self, event: &ProgressEvent) {
        match event {
            // A new session: the activity of the previous one is in its transcript.
            ProgressEvent::VerificationRetryStart { .. } => {
                *self = Self {
                    version: self.version,
                    ..Self::default()
                }
            }
            ProgressEvent::Cost { .. } | ProgressEvent::Unknown => return,
            _ => {}
        }
        let length = text_bytes(event);
        let last = self.events.back_mut();
        if let (ProgressEvent::Token { text }, Some(ProgressEvent::Token { text: before })) =
            (event, last)
            && before.len() + length <= MAX_TEXT_BYTES / 4
        {
            before.push_str(text);
        } else {
            self.events.push_back(event.clone());
        }
        self.text += length;
        while self.events.len() > 1
            && (self.events.len() > MAX_EVENTS || self.text > MAX_TEXT_BYTES)
        {
            let gone = self.events.pop_front();
            self.text -= gone.as_ref().map_or(0, text_bytes);
        }
    }
}

/// Size of its text in bytes.
fn text_bytes(event: &ProgressEvent) -> usize {
    match event {
        ProgressEvent::VerificationRetryStart { text, .. }
        | ProgressEvent::VerificationRetryComplete { text, .. }
        | ProgressEvent::CheckStart { text, .. }
        | ProgressEvent::Token { text }
        | ProgressEvent::ApiRetry { text, .. } => text.len(),
        ProgressEvent::VerificationCheckResult {
            check_type,
            text,
            reason,
            ..
        } => check_type.len() + text.len() + reason.as_ref().map_or(0, String::len),
        ProgressEvent::Status { message } => message.len(),
        ProgressEvent::Tool { name, subject, .. } => name.len() + subject.len(),
        ProgressEvent::Cost { .. } | ProgressEvent::Unknown => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u128) -> TaskId {
        TaskId::new(uuid::Uuid::from_u128(number))
    }

    fn says(text: &str) -> ProgressEvent {
        ProgressEvent::Token {
            text: text.to_owned(),
        }
    }

    fn uses(tool: &str) -> ProgressEvent {
        ProgressEvent::Tool {
            name: tool.to_owned(),
            subject: "x".repeat(1000),
            ok: None,
        }
    }

    #[test]
    fn the_last_words_of_a_session_are_kept_and_a_fresh_one_begins_anew() {
        let mut telling = RecentActivity::default();
        telling.record(task(1), &[says("First "), says("this.")]);
        assert_eq!(telling.latest(task(1)), [says("First this.")]);
        let again = ProgressEvent::VerificationRetryStart {
            attempt: 2,
            max_retries: 2,
            text: String::new(),
        };
        telling.record(task(1), &[again.clone(), says("Then that.")]);
        assert_eq!(telling.latest(task(1)), [again, says("Then that.")]);
        telling.forget(task(1));
        assert_eq!(telling.latest(task(1)), []);
    }

    #[test]
    fn however_much_is_said_little_is_kept() {
        let mut telling = RecentActivity::default();
        for number in 0..2 * MAX_TASKS as u128 {
            telling.record(task(number), &[says("Here I am.")]);
        }
        assert_eq!(telling.tasks.len(), MAX_TASKS);
        assert_eq!(telling.latest(task(0)), [], "it was silent longest");
        let last = task(2 * MAX_TASKS as u128 - 1);
        for _ in 0..10 * MAX_EVENTS {
            telling.record(last, &[uses("Read"), says(&"y".repeat(4096))]);
        }
        let kept: usize = telling.latest(last).iter().map(text_bytes).sum();
        assert!(
            kept <= MAX_TEXT_BYTES && kept > MAX_TEXT_BYTES / 2,
            "{kept}"
        );
        assert_eq!(
            kept, telling.tasks[&last].text,
            "what is counted is what is kept"
        );
    }
}
