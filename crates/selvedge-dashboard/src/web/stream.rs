//! Event streams that end with the access of the user who opened them.

use std::future::Future;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::StreamExt;

/// Ends an event stream once the future returns. Other responses are returned unchanged, and the future is not
/// created.
pub fn end_stream_with<F>(response: Response, ended: impl FnOnce() -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let stream = body.into_data_stream().take_until(Box::pin(ended()));
    Response::from_parts(parts, Body::from_stream(stream))
}
