//! Error pages for people: a browser gets a page instead of plain text or `application/problem+json`.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use serde::Deserialize;

use super::headers::set_security_headers;
use super::respond::render_page;
use crate::pages::{ErrorPage, NavItem, PageFrame};
use crate::text::make_visible;

/// Longest error text that is shown, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// The part of a problem document that a page shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemText {
    title: String,
    detail: String,
}

/// Shows errors of a router to browsers as pages, with their own headers and those of every page.
pub fn with_error_pages(router: Router) -> Router {
    router.layer(from_fn(show_errors_as_pages))
}

async fn show_errors_as_pages(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let accepts_pages = accepts_html(request.headers());
    let response = next.run(request).await;
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    // Compressed text cannot be read.
    let is_final = has_content_type(response.headers(), "text/html")
        || response.headers().contains_key(CONTENT_ENCODING);
    if is_api || !accepts_pages || !is_error || is_final {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let is_problem = has_content_type(&parts.headers, "application/problem+json");
    let body = to_bytes(body, MAX_BODY_BYTES).await;
    let body = body.unwrap_or_default();
    let text = if is_problem {
        let problem: ProblemText = serde_json::from_slice(&body).unwrap_or_default();
        Some(problem.detail)
            .filter(|it| !it.is_empty())
            .unwrap_or(problem.title)
    } else {
        String::from_utf8_lossy(&body).trim().to_owned()
    };
    let page = error_page(status, &text);
    // Other headers remain: `WWW-Authenticate`, `Allow`, `Retry-After`.
    parts.headers.remove(CONTENT_LENGTH);
    if let Some(kind) = page.headers().get(CONTENT_TYPE) {
        parts.headers.insert(CONTENT_TYPE, kind.clone());
    }
    set_security_headers(&mut parts.headers);
    Response::from_parts(parts, page.into_body())
}

/// The page of an error.
fn error_page(status: StatusCode, text: &str) -> Response {
    let reason = status.canonical_reason().unwrap_or("Error");
    let advice = match status {
        StatusCode::NOT_FOUND => "It may have been removed, or the address may be mistyped.",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            "Wait a moment, and reload the page."
        }
        _ if status.is_server_error() => {
            "Reload the page; if the error persists, see the server's log."
        }
        _ => "Nothing was changed.",
    };
    // As in all headings, only the first word is capitalized.
    let mut letters = reason.chars();
    let first: String = letters.next().into_iter().collect();
    let title = first + &letters.as_str().to_lowercase();
    let page = ErrorPage {
        frame: PageFrame::new(title, NavItem::Other, None),
        what: make_visible(if text.is_empty() { reason } else { text }),
        advice,
    };
    render_page(status, &page)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/html"))
}

fn has_content_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(wanted))
}
