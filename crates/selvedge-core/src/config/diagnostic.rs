//! What is wrong, where, and what to do about it, as data: the edge renders it.

use std::fmt;

use super::source::SourceSpan;

/// Something to tell about a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it points at.
    pub span: SourceSpan,
    /// What is the matter: a lower-case fragment.
    pub message: String,
    /// What to do, where that can be said.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Without a hint, unless the message brings one in its second line (see [`with_hint`]).
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

/// A configuration that nothing can be run with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub Diagnostic);

/// A message with a hint, in the one string that serde's errors can carry.
pub(super) fn with_hint(message: impl fmt::Display, hint: impl fmt::Display) -> String {
    format!("{message}\n{hint}")
}
