//! The error of everything that examines work: checks, parsers and gates.

use crate::workspace::WorkspaceError;

/// Why a check has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The run is being stopped.
    #[error("stopped before the check ended")]
    Cancelled,
    /// Results can no longer be stored; continuing would lose evidence.
    #[error("{0}")]
    Infrastructure(String),
    /// The disk is full. The check can be repeated once there is free space.
    #[error("{0}")]
    DiskFull(String),
}

impl CheckError {
    /// The error of an operation on the workspace that could not `what`.
    pub(crate) fn of_workspace(what: &str, error: &WorkspaceError) -> Self {
        let text = format!("{what}: {error}");
        match error {
            WorkspaceError::DiskFull { .. } => Self::DiskFull(text),
            _ => Self::Infrastructure(text),
        }
    }
}
