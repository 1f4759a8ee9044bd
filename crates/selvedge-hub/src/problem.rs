//! Error responses of the hub: `application/problem+json`, with an error for each invalid field. Internal
//! details are only logged.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use selvedge_protocol::{DEFAULT_PROJECT, FieldError, LIMIT_PROBLEM, PROBLEM_PREFIX, Problem};
use selvedge_store::hub::HubStoreError;
use serde::de::DeserializeOwned;

use crate::object_storage::BlobStorageError;
use crate::service::{ServiceError, describe_fields};

/// An error response.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Problem);

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        Self(Problem {
            kind: format!("{PROBLEM_PREFIX}{kind}"),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            detail: Some(detail.into()),
            errors: Vec::new(),
        })
    }

    /// One or more fields are invalid.
    pub(crate) fn fields(errors: Vec<FieldError>) -> Self {
        let mut problem = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid-fields",
            describe_fields(&errors),
        );
        problem.0.errors = errors;
        problem
    }

    pub(crate) fn field(field: &str, detail: impl Into<String>) -> Self {
        Self::fields(vec![FieldError {
            field: field.to_owned(),
            detail: detail.into(),
        }])
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn is_unauthorized(&self) -> bool {
        self.0.status == StatusCode::UNAUTHORIZED
    }

    /// Description of the error for users.
    pub(crate) fn detail(&self) -> &str {
        self.0.detail.as_deref().unwrap_or(&self.0.title)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            format!("{what} not found"),
        )
    }

    /// Only administrators of the default project may do this.
    pub(crate) fn other_project() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "project",
            format!("only a token of the project `{DEFAULT_PROJECT}` may do this"),
        )
    }

    pub(crate) fn no_random_numbers() -> Self {
        let detail = "cannot get random numbers from the system";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "random", detail)
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        match error {
            ServiceError::TaskNotFound => Self::new(StatusCode::NOT_FOUND, "not-found", detail),
            ServiceError::Conflict(_) => Self::conflict(detail),
            ServiceError::Forbidden(_) => Self::new(StatusCode::FORBIDDEN, "forbidden", detail),
            ServiceError::LimitReached(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, LIMIT_PROBLEM, detail)
            }
            ServiceError::InvalidFields(errors) => Self::fields(errors),
            ServiceError::Store(HubStoreError::DiskFull) => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "store", detail)
            }
            ServiceError::Store(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "store", detail),
        }
    }
}

impl From<HubStoreError> for ApiError {
    fn from(error: HubStoreError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<BlobStorageError> for ApiError {
    fn from(error: BlobStorageError) -> Self {
        if let BlobStorageError::Store(error) = error {
            return error.into();
        }
        let (status, kind) = if error.is_content_lost() {
            (StatusCode::GONE, "file-lost")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "object-store")
        };
        Self::new(status, kind, error.log_and_describe())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"selvedge\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Query parameters; invalid ones are answered with problem details.
#[derive(Debug)]
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let parsed = Query::try_from_uri(&parts.uri);
        let Query(params) = parsed.map_err(|error| ApiError::bad_request(error.body_text()))?;
        Ok(Self(params))
    }
}
