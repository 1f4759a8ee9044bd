//! Blobs: bytes under their SHA-256. They are uploaded in chunks, which can be resumed after any
//! interruption, and verified before anything may refer to them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, put};
use futures_util::stream;
use selvedge_protocol::Scope;
use selvedge_store::fault;
use selvedge_store::hub::BlobState;

use super::tasks::{BodyResult, read_body};
use crate::access::Caller;
use crate::auth::has_scope;
use crate::hub::Hub;
use crate::object_storage::{self, BlobStorageError};
use crate::problem::ApiError;

/// Size of a chunk in bytes.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;
const OFFSET_HEADER: &str = "upload-offset";

pub(super) fn route() -> MethodRouter<Arc<Hub>> {
    put(append).layer(DefaultBodyLimit::max(CHUNK_BYTES))
}

fn parse_hash(hash: &str) -> Result<String, ApiError> {
    let digits = |char: char| char.is_ascii_digit() || ('a'..='f').contains(&char);
    if hash.len() == 64 && hash.chars().all(digits) {
        Ok(hash.to_owned())
    } else {
        Err(ApiError::bad_request(
            "invalid blob name: must be a SHA-256 of 64 lower-case hexadecimal digits",
        ))
    }
}

pub(super) async fn show_size(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(hash): Path<String>,
) -> Result<Response, ApiError> {
    let hash = parse_hash(&hash)?;
    // A worker uploads only what is missing.
    if !has_scope(&caller.0, Scope::Worker) {
        check_project(&hub, &caller, &hash).await?;
    }
    Ok(match hub.store.blob_state(hash).await? {
        BlobState::Complete { size } => {
            (StatusCode::OK, [("content-length", size.to_string())]).into_response()
        }
        BlobState::Partial { offset } | BlobState::OffsetMismatch { offset } => {
            (StatusCode::NOT_FOUND, [(OFFSET_HEADER, offset.to_string())]).into_response()
        }
        BlobState::Missing | BlobState::WrongHash => {
            (StatusCode::NOT_FOUND, [(OFFSET_HEADER, "0".to_owned())]).into_response()
        }
    })
}

pub(super) async fn read(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(hash): Path<String>,
) -> Result<Response, ApiError> {
    let hash = parse_hash(&hash)?;
    // Workers of the default project carry out the tasks of all projects.
    if !(has_scope(&caller.0, Scope::Worker) && caller.is_of_default_project()) {
        check_project(&hub, &caller, &hash).await?;
    }
    stream_blob(&hub, hash).await
}

/// Fails if no task of the caller's project has a file with this content.
async fn check_project(hub: &Hub, caller: &Caller, hash: &str) -> Result<(), ApiError> {
    let project = caller.0.project.clone();
    if hub.store.project_has_blob(project, hash.to_owned()).await? {
        Ok(())
    } else {
        Err(ApiError::not_found("blob"))
    }
}

/// Streams a complete blob with at most one chunk in memory. Blobs are untrusted content, so a browser must
/// never render them.
pub(super) async fn stream_blob(hub: &Arc<Hub>, hash: String) -> Result<Response, ApiError> {
    let BlobState::Complete { size } = hub.store.blob_state(hash.clone()).await? else {
        return Err(ApiError::not_found("blob"));
    };
    let hub = Arc::clone(hub);
    // Before the response begins: most failures show here, and have a status.
    let first = object_storage::read(&hub, hash.clone(), size, 0).await?;
    let chunks = stream::try_unfold((0, Some(first)), move |(offset, chunk)| {
        let (hub, hash) = (Arc::clone(&hub), hash.clone());
        async move {
            let chunk = match chunk {
                Some(chunk) => chunk,
                None => object_storage::read(&hub, hash, size, offset)
                    .await
                    .inspect_err(|error| tracing::error!(%error, "a download was cut off"))?,
            };
            let next = offset + u64::try_from(chunk.len()).unwrap_or(0);
            let more = (!chunk.is_empty()).then_some((chunk, (next, None)));
            Ok::<_, BlobStorageError>(more)
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

async fn append(
    State(hub): State<Arc<Hub>>,
    Path(hash): Path<String>,
    headers: HeaderMap,
    body: BodyResult,
) -> Result<Response, ApiError> {
    let hash = parse_hash(&hash)?;
    let chunk = read_body(body)?;
    let range = headers
        .get(header::CONTENT_RANGE)
        .map(|range| range.to_str().unwrap_or(""));
    let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
    let (offset, total) = match range {
        None => (0, length),
        Some(range) => parse_content_range(range, length).ok_or_else(|| {
            ApiError::bad_request("`Content-Range: bytes FIRST-LAST/TOTAL` does not match the body")
        })?,
    };
    if total > hub.settings.blob_limit {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            format!(
                "blob too large; the maximum is {} bytes",
                hub.settings.blob_limit
            ),
        ));
    }
    let appended = object_storage::append(&hub, hash, offset, total, chunk.to_vec()).await?;
    fault::failpoint("hub.blob.kept");
    Ok(match appended {
        BlobState::Complete { .. } => StatusCode::NO_CONTENT.into_response(),
        BlobState::Partial { offset } => (
            StatusCode::NO_CONTENT,
            [(OFFSET_HEADER, offset.to_string())],
        )
            .into_response(),
        BlobState::OffsetMismatch { offset } => {
            let refused = ApiError::conflict(format!("wrong offset; the next byte is {offset}"));
            ([(OFFSET_HEADER, offset.to_string())], refused).into_response()
        }
        BlobState::WrongHash | BlobState::Missing => {
            ApiError::field("hash", "the uploaded bytes do not have this hash").into_response()
        }
    })
}

/// Parses `bytes 0-9/20` into the offset and the total, if they fit a body of that length.
fn parse_content_range(range: &str, length: u64) -> Option<(u64, u64)> {
    let (span, total) = range.strip_prefix("bytes ")?.split_once('/')?;
    let total = total.parse().ok()?;
    if span == "*" {
        return (length == 0 && total == 0).then_some((0, 0));
    }
    let (first, last) = span.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let fits = last.checked_sub(first)?.checked_add(1)? == length && last < total;
    fits.then_some((first, total))
}

#[cfg(test)]
mod tests {
    use super::parse_content_range;

    #[test]
    fn content_range_must_fit_body() {
        assert_eq!(parse_content_range("bytes 0-9/20", 10), Some((0, 20)));
        assert_eq!(parse_content_range("bytes 10-19/20", 10), Some((10, 20)));
        for odd in [
            "bytes 0-9/20",
            "bytes 5-3/20",
            "bytes 0-10/5",
            "0-10/20",
            "bytes x-1/2",
            "",
        ] {
            assert_eq!(parse_content_range(odd, 11), None, "{odd}");
        }
        let most = u64::MAX;
        assert_eq!(
            parse_content_range(&format!("bytes 0-{most}/{most}"), 0),
            None
        );
    }
}
