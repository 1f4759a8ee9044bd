//! What is going on, moment by moment: lossy, unsequenced, for people who watch.
//!
//! Nothing may depend on an activity having been seen. What must not be lost is an event.

use std::sync::{Mutex, PoisonError};

use selvedge_core::model::{CheckStatus, Cost};
use selvedge_core::redact::{RedactionStream, Redactor};

/// One thing that just happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// The agent says something.
    Text(String),
    /// The agent uses a tool.
    ToolStarted {
        /// The tool's name.
        name: String,
        /// What it is used on, in a few words: a path, a command line.
        subject: String,
    },
    /// A tool came back.
    ToolEnded {
        /// The tool's name, where it is known.
        name: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The model's API is tried again inside the executor. This is no verification retry.
    ApiRetry {
        /// Which retry.
        attempt: u32,
        /// How many there may be.
        max: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// Why.
        reason: String,
    },
    /// What the session has cost so far: an estimate while it runs, where its model has a price; what
    /// the agent reports at the end.
    Cost(Cost),
    /// A check began.
    CheckStarted {
        /// Its label.
        label: String,
    },
    /// A check that failed is run again, to tell a flake from a failure.
    CheckRepeated {
        /// Its label.
        label: String,
    },
    /// A check ended.
    CheckEnded {
        /// Its label.
        label: String,
        /// What it says.
        status: CheckStatus,
        /// Why, in one line.
        reason: Option<String>,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Something worth a line.
    Note(String),
}

/// Where activities go. Must not block: drop what cannot be taken.
pub trait Progress: Send + Sync {
    /// Takes one activity.
    fn on_activity(&self, activity: Activity);
}

/// Takes every activity and keeps none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullProgress;

impl Progress for NullProgress {
    fn on_activity(&self, _: Activity) {}
}

/// Passes every activity on without secrets. What an agent says comes piece by piece, so the end of a
/// piece that may be the beginning of a secret is held back until something else happens.
pub struct RedactingProgress<'a> {
    inner: &'a dyn Progress,
    redactor: &'a Redactor,
    text_stream: Mutex<RedactionStream>,
}

impl std::fmt::Debug for RedactingProgress<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Redacted").finish_non_exhaustive()
    }
}

impl<'a> RedactingProgress<'a> {
    /// What is passed on to `to`.
    pub fn new(to: &'a dyn Progress, redactor: &'a Redactor) -> Self {
        Self {
            inner: to,
            redactor,
            text_stream: Mutex::new(redactor.stream()),
        }
    }

    fn text(&self, text: String) -> String {
        match self.redactor.redact_text(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(redacted) => redacted,
        }
    }

    /// What of an agent's words can be said now.
    fn redact_text(&self, decide: impl FnOnce(&mut RedactionStream) -> Vec<u8>) {
        let said = decide(
            &mut self
                .text_stream
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        if !said.is_empty() {
            let text = String::from_utf8_lossy(&said).into_owned();
            self.inner.on_activity(Activity::Text(text));
        }
    }

    fn flush_text(&self) {
        self.redact_text(|stream| {
            let mut rest = Vec::new();
            stream.finish(&mut rest);
            rest
        });
    }
}

impl Progress for RedactingProgress<'_> {
    fn on_activity(&self, activity: Activity) {
        if let Activity::Text(text) = activity {
            return self.redact_text(|stream| {
                let mut room = Vec::new();
                stream.push(text.as_bytes(), &mut room).to_vec()
            });
        }
        self.flush_text();
        self.inner.on_activity(match activity {
            Activity::ToolStarted { name, subject } => Activity::ToolStarted {
                name,
                subject: self.text(subject),
            },
            Activity::ApiRetry {
                attempt,
                max,
                delay_ms,
                reason,
            } => Activity::ApiRetry {
                attempt,
                max,
                delay_ms,
                reason: self.text(reason),
            },
            Activity::CheckEnded {
                label,
                status,
                reason,
                duration_ms,
            } => Activity::CheckEnded {
                label,
                status,
                reason: reason.map(|reason| self.text(reason)),
                duration_ms,
            },
            Activity::Note(note) => Activity::Note(self.text(note)),
            other => other,
        });
    }
}

impl Drop for RedactingProgress<'_> {
    fn drop(&mut self) {
        self.flush_text();
    }
}
