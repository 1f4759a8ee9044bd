//! Errors of requests to a hub.

use selvedge_protocol::{LIMIT_PROBLEM, PROBLEM_PREFIX, Problem};

use crate::error::CliError;

/// Why a request to a hub failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// The hub could not be reached, or the connection broke.
    #[error("cannot reach the hub at {hub}: {why}")]
    Unreachable {
        /// The hub's URL.
        hub: String,
        why: String,
        /// Whether the hub may have received the request.
        was_sent: bool,
    },
    /// The hub rejected the request.
    #[error("the hub rejected the request: {}", describe_problem(.problem))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The hub's description of the problem.
        problem: Box<Problem>,
    },
    /// This program does not understand the response.
    #[error("invalid response from the hub: {0}")]
    InvalidResponse(String),
    /// A local file cannot be used.
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
            Self::Refused { status, problem } => {
                let is_limit = problem.kind.strip_prefix(PROBLEM_PREFIX) == Some(LIMIT_PROBLEM);
                *status >= 500 || (matches!(status, 408 | 429) && !is_limit)
            }
            Self::InvalidResponse(_) | Self::File(_) => false,
        }
    }

    /// Whether the hub may have carried the request out.
    pub(crate) const fn may_have_arrived(&self) -> bool {
        match self {
            Self::Unreachable { was_sent, .. } => *was_sent,
            Self::Refused { .. } | Self::InvalidResponse(_) => true,
            Self::File(_) => false,
        }
    }

    /// Whether the hub does not accept the token.
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether the resource does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// The reason for which this program rejects a certificate.
fn certificate_hint(error: &HubError) -> Option<&'static str> {
    let HubError::Unreachable { why, .. } = error else {
        return None;
    };
    let hints = [
        (
            "CaUsedAsEndEntity",
            "the hub's certificate is marked as a certificate authority, as `openssl req -x509` does by default; \
             create it with: -addext 'basicConstraints=critical,CA:FALSE' -addext 'subjectAltName=DNS:NAME'",
        ),
        (
            "not valid for",
            "use a name that the certificate's subjectAltName lists (a common name does not count)",
        ),
        (
            "UnknownIssuer",
            "trust the issuer of the hub's certificate: SSL_CERT_FILE=FILE",
        ),
    ];
    let hint = hints.into_iter().find(|(text, _)| why.contains(text));
    hint.map(|(_, hint)| hint)
}

impl From<HubError> for CliError {
    fn from(error: HubError) -> Self {
        let is_usage_error = match &error {
            HubError::Refused { status, .. } => *status < 500,
            _ => false,
        };
        let cli_error = if is_usage_error {
            Self::usage(&error)
        } else {
            Self::infrastructure(&error)
        };
        let HubError::Refused { status, problem } = &error else {
            return match certificate_hint(&error) {
                Some(hint) => cli_error.hint(hint),
                None => cli_error,
            };
        };
        let mut cli_error = cli_error;
        for field in &problem.errors {
            cli_error = cli_error.hint(format!("{}: {}", field.field, field.detail));
        }
        match status {
            401 => cli_error.hint(
                "the token is unknown, revoked or expired; create another with `selvedge tokens add`",
            ),
            403 if problem.kind.ends_with(":scope") => {
                cli_error.hint("the token lacks the required scope")
            }
            _ => cli_error,
        }
    }
}
