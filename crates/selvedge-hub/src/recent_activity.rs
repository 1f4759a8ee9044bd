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
            let silent = self
                .tasks
                .iter()
                .min_by_key(|(_, task_activity)| task_activity.version);
            if let Some(silent) = silent.map(|(task, _)| *task) {
                self.tasks.remove(&silent);
            }
        }
        self.clock += 1;
        let task_activity = self.tasks.entry(task).or_default();
        task_activity.version = self.clock;
        for event in events {
            task_activity.push_event(event);
        }
    }

    /// The latest events, oldest first.
    pub(crate) fn latest(&self, task: TaskId) -> Vec<ProgressEvent> {
        let task_activity = self.tasks.get(&task);
        task_activity.map_or_else(Vec::new, |task_activity| {
            task_activity.events.iter().cloned().collect()
        })
    }

    /// Version of the activity; increases with every event.
    pub(crate) fn version(&self, task: TaskId) -> u64 {
        self.tasks
            .get(&task)
            .map_or(0, |task_activity| task_activity.version)
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
            let oldest = self.events.pop_front();
            self.text -= oldest.as_ref().map_or(0, text_bytes);
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

    fn message_event(text: &str) -> ProgressEvent {
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
    fn recent_activity_keeps_latest_session() {
        let mut recent_activity = RecentActivity::default();
        recent_activity.record(task(1), &[message_event("First "), message_event("this.")]);
        assert_eq!(
            recent_activity.latest(task(1)),
            [message_event("First this.")]
        );
        let again = ProgressEvent::VerificationRetryStart {
            attempt: 2,
            max_retries: 2,
            text: String::new(),
        };
        recent_activity.record(task(1), &[again.clone(), message_event("Then that.")]);
        assert_eq!(
            recent_activity.latest(task(1)),
            [again, message_event("Then that.")]
        );
        recent_activity.forget(task(1));
        assert_eq!(recent_activity.latest(task(1)), []);
    }

    #[test]
    fn recent_activity_is_bounded() {
        let mut recent_activity = RecentActivity::default();
        for number in 0..2 * MAX_TASKS as u128 {
            recent_activity.record(task(number), &[message_event("Here I am.")]);
        }
        assert_eq!(recent_activity.tasks.len(), MAX_TASKS);
        assert_eq!(recent_activity.latest(task(0)), [], "it was silent longest");
        let last = task(2 * MAX_TASKS as u128 - 1);
        for _ in 0..10 * MAX_EVENTS {
            recent_activity.record(last, &[uses("Read"), message_event(&"y".repeat(4096))]);
        }
        let kept_bytes: usize = recent_activity.latest(last).iter().map(text_bytes).sum();
        assert!(
            kept_bytes <= MAX_TEXT_BYTES && kept_bytes > MAX_TEXT_BYTES / 2,
            "{kept_bytes}"
        );
        assert_eq!(
            kept_bytes, recent_activity.tasks[&last].text,
            "what is counted is what is kept"
        );
    }
}
