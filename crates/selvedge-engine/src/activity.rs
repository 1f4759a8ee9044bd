//! Live activity of a run for people who watch: lossy and without sequence numbers.
//!
//! No code may depend on having seen an activity. Information that must not be lost is an event.

use parking_lot::Mutex;
use selvedge_core::model::{CheckStatus, Cost};
use selvedge_core::redact::{RedactionStream, Redactor};

/// One activity.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// Text of the agent.
    Text(String),
    /// The agent starts to use a tool.
    ToolStarted {
        /// The tool's name.
        name: String,
        /// Argument of the tool in a few words: a path, a command line.
        subject: String,
    },
    /// A tool call ended.
    ToolEnded {
        /// The tool's name, if it is known.
        name: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The executor repeats a call of the model's API. This is not a verification retry.
    ApiRetry {
        /// Number of the retry.
        attempt: u32,
        /// Maximum number of retries.
        max: u32,
        /// Delay before the retry in milliseconds.
        delay_ms: u64,
        /// Reason of the retry.
        reason: String,
    },
    /// Cost of the session so far: an estimate while it runs, if the model has a price; at the end the cost that the
    /// agent reports.
    Cost(Cost),
    /// A check began.
    CheckStarted {
        /// The check's label.
        label: String,
    },
    /// A failed check is run again, to distinguish a flaky test from a failure.
    CheckRepeated {
        /// The check's label.
        label: String,
    },
    /// A check ended.
    CheckEnded {
        /// The check's label.
        label: String,
        /// Status of the check.
        status: CheckStatus,
        /// Reason in one line.
        reason: Option<String>,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// A remark for the user.
    Note(String),
}

/// Receiver of activities. Must not block: it drops what it cannot accept.
pub trait Progress: Send + Sync {
    /// Receives one activity.
    fn on_activity(&self, activity: Activity);
}

/// Discards every activity.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullProgress;

impl Progress for NullProgress {
    fn on_activity(&self, _: Activity) {}
}

/// Forwards activities without secrets. Agent text arrives in pieces, so the end of a piece that may be the beginning
/// of a secret is held back until the next activity.
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
    /// Forwards redacted activities to `to`.
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

    /// Forwards the part of the agent's text that certainly holds no secret.
    fn redact_text(&self, decide: impl FnOnce(&mut RedactionStream) -> Vec<u8>) {
        let redacted = decide(&mut self.text_stream.lock());
        if !redacted.is_empty() {
            let text = String::from_utf8_lossy(&redacted).into_owned();
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
