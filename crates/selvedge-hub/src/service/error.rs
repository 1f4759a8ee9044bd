//! Errors of operations.

use selvedge_protocol::FieldError;
use selvedge_store::hub::HubStoreError;

/// Why an operation was not carried out. The messages are for users.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    /// The task does not exist, or belongs to another project.
    #[error("task not found")]
    TaskNotFound,
    /// The operation is not possible in the task's current state.
    #[error("{0}")]
    Conflict(String),
    /// The user may not carry out the operation.
    #[error("{0}")]
    Forbidden(String),
    /// A limit of the project is reached.
    #[error("{0}")]
    LimitReached(String),
    /// One or more fields are invalid.
    #[error("{}", describe_fields(.0))]
    InvalidFields(Vec<FieldError>),
    /// The store failed. Its own message is only logged.
    #[error("the hub's store is unavailable; try again")]
    Store(#[source] HubStoreError),
}

impl ServiceError {
    pub(super) fn invalid_field(field: &str, detail: impl Into<String>) -> Self {
        Self::InvalidFields(vec![FieldError {
            field: field.to_owned(),
            detail: detail.into(),
        }])
    }
}

impl From<HubStoreError> for ServiceError {
    fn from(error: HubStoreError) -> Self {
        tracing::error!(%error, "the store failed");
        Self::Store(error)
    }
}

/// Invalid fields in one line.
pub(crate) fn describe_fields(errors: &[FieldError]) -> String {
    let descriptions: Vec<String> = errors
        .iter()
        .map(|error| format!("{}: {}", error.field, error.detail))
        .collect();
    descriptions.join("; ")
}
