//! Diagnostics as data: the problem, its position and a fix. The caller renders them.

use std::fmt;

use super::source::SourceSpan;

/// A message about a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The value's position.
    pub span: SourceSpan,
    /// The problem: a lower-case fragment.
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without a hint, unless the second line of the message is one (see [`with_hint`]).
    pub(super) fn new(place: SourceSpan, message: &str) -> Self {
        let (message, hint) = match message.split_once('\n') {
            Some((message, hint)) => (message, Some(hint.to_owned())),
            None => (message, None),
        };
        Self {
            span: place,
            message: message.to_owned(),
            hint,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.span, self.message)?;
        self.hint
            .as_ref()
            .map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{diagnostic}")]
pub struct ConfigError {
    /// Why it is invalid.
    pub diagnostic: Diagnostic,
    /// Keys that were ignored before: one of them may be the cause, such as a misspelled key.
    pub warnings: Vec<Diagnostic>,
}

impl ConfigError {
    pub(super) fn with_warnings(self, earlier: &[Diagnostic]) -> Self {
        Self {
            warnings: [earlier, &self.warnings].concat(),
            ..self
        }
    }
}

impl From<Diagnostic> for ConfigError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self {
            diagnostic,
            warnings: Vec::new(),
        }
    }
}

/// A message with a hint, in the single string that serde's errors can carry.
pub(super) fn with_hint(message: impl fmt::Display, hint: impl fmt::Display) -> String {
    format!("{message}\n{hint}")
}
