//! The outermost middleware. It gives every request an id, which the client may choose; log lines of the request and
//! the response contain it. And it measures every request.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use uuid::Uuid;

use crate::hub::Hub;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of clients are replaced.
const MAX_ID_BYTES: usize = 128;
/// Methods that are labels of metrics. All others share a label, because clients can invent
/// methods.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

pub(crate) async fn observe_request(
    State(hub): State<Arc<Hub>>,
    request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("unmatched", MatchedPath::as_str).to_owned();
    let method = request.method().as_str();
    let method = METHODS.into_iter().find(|it| *it == method);
    let method = method.unwrap_or("other");
    // At the level of errors, so that log lines contain the id at every log level.
    let span = tracing::error_span!("request", request_id = %id, method, route);
    let began_at = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = began_at.elapsed();
    let status = response.status();
    hub.metrics
        .record_request(method, &route, status.as_u16(), took);
    span.in_scope(|| {
        let status = status.as_u16();
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if status >= 500 {
            tracing::error!(status, milliseconds, "request failed");
        } else {
            tracing::debug!(status, milliseconds, "request");
        }
    });
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The client's id if it is short and plain, or else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte);
        (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_plain)
    };
    given
        .filter(is_plain)
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_id_of_client_is_kept_only_if_plain() {
        let id = |given: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(given).unwrap());
            request_id(&headers)
        };
        assert_eq!(id("build-512.a_b"), "build-512.a_b");
        for given in ["", "a b", "\u{e4}", "{\"x\":1}", &"x".repeat(129)] {
            assert_eq!(id(given).len(), 36, "{given}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
