//! What goes wrong between us and a hub.

use selvedge_core::protocol::Problem;

use crate::error::CliError;

/// Why a hub did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// It could not be reached, or broke off.
    #[error("cannot speak to the hub at {hub}: {why}")]
    Unreachable {
        /// Where it would be.
        hub: String,
        /// Why.
        why: String,
    },
    /// It answered, and refused.
    #[error("the hub refuses: {}", describe_problem(.problem))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says.
        problem: Box<Problem>,
    },
    /// Its answer is not what this program understands.
    #[error("the hub answers what this program does not understand: {0}")]
    InvalidResponse(String),
    /// A file of ours.
    #[error("{0}")]
    File(String),
}

fn describe_problem(problem: &Problem) -> String {
    let detail = problem.detail.as_deref().unwrap_or_default();
    match (problem.title.is_empty(), detail.is_empty()) {
        (false, false) => format!("{}: {detail}", problem.title),
        (false, true) => problem.title.clone(),
        (true, false) => detail.to_owned(),
        (true, true) => format!("HTTP {}", problem.status),
    }
}

impl HubError {
    /// Whether the same request may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => *status >= 500 || matches!(status, 408 | 429),
            Self::InvalidResponse(_) | Self::File(_) => false,
        }
    }

    /// Whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

impl From<HubError> for CliError {
    fn from(error: HubError) -> Self {
        let ours = match &error {
            HubError::Refused { status, .. } => *status < 500,
            _ => false,
        };
        let told = if ours {
            Self::usage(&error)
        } else {
            Self::infrastructure(&error)
        };
        let HubError::Refused { status, problem } = &error else {
            return told;
        };
        let mut told = told;
        for field in &problem.errors {
            told = told.hint(format!("{}: {}", field.field, field.detail));
        }
        match status {
            401 => told.hint(
                "the token is not one of this hub's, or has ended: `selvedge tokens` makes another",
            ),
            403 => told.hint("the token lacks the scope for this"),
            _ => told,
        }
    }
}
