//! From a page or a trouble to an answer.

use askama::Template;
use axum::Form;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::door;
use crate::pages::{Frame, Here, TroublePage};
use crate::reading::Trouble;
use crate::text::visible;

/// A page that came out, or a trouble on a page of its own.
pub(super) type Page = Result<Response, Response>;

/// Renders a page.
pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The frame of a page for somebody who is in.
pub(super) fn frame(inside: &door::Inside, title: &str, here: Here) -> Frame {
    Frame {
        csrf: inside.form_token(),
        has_fleet: inside.has_fleet,
        ..Frame::new(title, here, Some(&inside.visitor))
    }
}

/// Says what happened, and what to do now.
pub(super) fn trouble(inside: Option<&door::Inside>, trouble: &Trouble) -> Response {
    let (status, title, advice) = match trouble {
        Trouble::NotFound(_) => (
            StatusCode::NOT_FOUND,
            "There is no such thing",
            "It may belong to somebody else, or have been put away.",
        ),
        Trouble::Refused(_) => (
            StatusCode::CONFLICT,
            "That cannot be done now",
            "Look at the task again: it may have gone on meanwhile.",
        ),
        Trouble::Failed(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "That did not work",
            "Nothing was changed by this page. Try again; if it stays, the log of the server says more.",
        ),
    };
    let trouble = TroublePage {
        frame: inside.map_or_else(
            || Frame::new(title, Here::Nowhere, None),
            |inside| frame(inside, title, Here::Nowhere),
        ),
        what: visible(&trouble.to_string()),
        advice,
    };
    page(status, &trouble)
}

/// Leads a browser on after something was done.
pub(super) fn see(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, address.to_owned())]).into_response()
}

/// What every form brings along, and what only some do.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fields {
    pub(super) csrf: String,
    pub(super) token: String,
    pub(super) decision: String,
    pub(super) reason: String,
    pub(super) retry: String,
    pub(super) attempt: String,
    pub(super) tree: String,
}

/// A form that was read, whatever stands in it.
pub(super) type Sent = Result<Form<Fields>, axum::extract::rejection::FormRejection>;

/// The fields of a form; none where it could not be read.
pub(super) fn fields(sent: Sent) -> Fields {
    sent.map(|Form(fields)| fields).unwrap_or_default()
}
