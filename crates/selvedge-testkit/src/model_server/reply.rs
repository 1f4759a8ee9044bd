//! A reply: status, headers and the pieces of the body. The turn's fault is applied here, so that no
//! API needs code for broken connections.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::script::TurnFault;

#[derive(Debug)]
pub(crate) struct ServerReply {
    status: u16,
    content_type: &'static str,
    retry_after: Option<u32>,
    request_id: Option<String>,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<String>,
    fault: Option<TurnFault>,
}

impl ServerReply {
    /// A reply whose body is streamed piece by piece.
    pub(crate) fn stream(content_type: &'static str, pieces: Vec<String>) -> Self {
        Self {
            status: 200,
            content_type,
            retry_after: None,
            request_id: None,
            headers: Vec::new(),
            pieces,
            fault: None,
        }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::stream("application/json", vec![body.to_string()])
    }

    pub(crate) fn text(body: &str) -> Self {
        Self::stream("text/plain", vec![body.to_owned()])
    }

    pub(crate) fn path_not_found() -> Self {
        Self::json(&json!({"error": "the scripted model server does not know this path"}))
            .with_status(404)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: Option<u32>) -> Self {
        self.retry_after = seconds;
        self
    }

    pub(crate) fn with_request_id(mut self, id: String) -> Self {
        self.request_id = Some(id);
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn with_fault(mut self, fault: Option<TurnFault>) -> Self {
        self.fault = fault;
        self
    }

    pub(crate) async fn into_response(self) -> Response {
        let body = match self.fault {
            None | Some(TurnFault::Status { .. } | TurnFault::UsageLimit { .. }) => {
                stream_body(self.pieces)
            }
            Some(TurnFault::Hang) => pending::<Body>().await,
            Some(TurnFault::BrokenJson) => stream_body(break_middle(self.pieces)),
            Some(TurnFault::DropAfter(bytes)) => {
                let head = stream::iter(truncate(self.pieces, bytes)).map(Ok);
                Body::from_stream(head.chain(stream::once(abort_connection())))
            }
            Some(TurnFault::StallAfter(bytes)) => {
                let head = stream::iter(truncate(self.pieces, bytes)).map(Ok::<_, Infallible>);
                Body::from_stream(head.chain(stream::pending()))
            }
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut headers = vec![(header::CONTENT_TYPE, self.content_type.to_owned())];
        headers.extend(
            self.retry_after
                .map(|wait| (header::RETRY_AFTER, wait.to_string())),
        );
        headers.extend(
            self.request_id
                .map(|id| (HeaderName::from_static("request-id"), id)),
        );
        let own = self.headers.into_iter();
        headers.extend(own.map(|(name, value)| (HeaderName::from_static(name), value)));
        let mut response = (status, body).into_response();
        for (name, value) in headers {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Seconds since 1970, this many seconds from now.
pub(crate) fn seconds_from_now(seconds: u32) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs() + u64::from(seconds)
}

fn stream_body(pieces: Vec<String>) -> Body {
    Body::from_stream(stream::iter(pieces).map(Ok::<_, Infallible>))
}

/// Returns the error that makes the server close the connection. It yields once first, so that the
/// pieces already written are sent; otherwise they would be discarded.
async fn abort_connection() -> io::Result<Bytes> {
    tokio::task::yield_now().await;
    Err(io::Error::other("cut by the script"))
}

/// The first `bytes` bytes. A character may be cut in two, as on the wire.
fn truncate(pieces: Vec<String>, bytes: usize) -> Vec<Bytes> {
    let mut left = bytes;
    let cut = |piece: String| {
        let taken = piece.len().min(left);
        left -= taken;
        Bytes::from(piece).slice(..taken)
    };
    pieces
        .into_iter()
        .map(cut)
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// Truncates the JSON of the middle piece and keeps its line break.
fn break_middle(mut pieces: Vec<String>) -> Vec<String> {
    let middle = pieces.len() / 2;
    if let Some(piece) = pieces.get_mut(middle) {
        let record = piece.trim_end();
        let line_break = piece[record.len()..].to_owned();
        let half = record.floor_char_boundary(record.len() / 2);
        piece.truncate(half);
        piece.push_str(&line_break);
    }
    pieces
}
