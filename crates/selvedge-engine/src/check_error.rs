//! The error of everything that examines work: checks, parsers and gates.

/// Why a check has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The run is being stopped.
    #[error("stopped before the check ended")]
    Cancelled,
    /// Results can no longer be stored; continuing would lose evidence.
    #[error("{0}")]
    Infrastructure(String),
}
