//! Turns pages and errors into responses.

use std::collections::BTreeMap;

use askama::Template;
use axum::Form;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::auth;
use crate::backend::DashboardError;
use crate::pages::{ErrorPage, NavItem, PageFrame};
use crate::text::make_visible;

/// A rendered page, or an error page.
pub(super) type PageResult = Result<Response, Response>;

/// Renders a page.
pub(super) fn render_page(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The frame of a page for a logged-in user.
pub(super) fn page_frame(
    login: &auth::RequestSession,
    title: &str,
    nav_item: NavItem,
) -> PageFrame {
    PageFrame {
        csrf: login.form_token(),
        has_fleet: login.has_fleet,
        theme: login.theme,
        ..PageFrame::new(title, nav_item, Some(&login.user))
    }
}

/// Renders an error page with a suggestion.
pub(super) fn render_error(
    login: Option<&auth::RequestSession>,
    trouble: &DashboardError,
) -> Response {
    let (status, title, advice) = match trouble {
        DashboardError::NotFound(_) => (
            StatusCode::NOT_FOUND,
            "Not found",
            "It may have been removed, or you may not have access to it.",
        ),
        DashboardError::Refused(_) => (
            StatusCode::CONFLICT,
            "Not possible",
            "Reload the task: its state may have changed.",
        ),
        DashboardError::Failed(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Internal error",
            "This page changed nothing. Try again; if the error persists, see the server's log.",
        ),
    };
    let trouble = ErrorPage {
        frame: login.map_or_else(
            || PageFrame::new(title, NavItem::Other, None),
            |login| page_frame(login, title, NavItem::Other),
        ),
        what: make_visible(&trouble.to_string()),
        advice,
    };
    render_page(status, &trouble)
}

/// Redirects the browser after an action.
pub(super) fn redirect_to(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, address.to_owned())]).into_response()
}

/// The fields of all forms; a form sends only some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FormFields {
    pub(super) csrf: String,
    pub(super) token: String,
    pub(super) decision: String,
    pub(super) reason: String,
    pub(super) retry: String,
    pub(super) attempt: String,
    pub(super) tree: String,
    pub(super) theme: String,
    /// Where to continue after the login.
    pub(super) next: String,
    /// Fields whose names are not fixed: comments on lines, selected tasks.
    #[serde(flatten)]
    pub(super) more: BTreeMap<String, String>,
}

/// Whether a path leads to this server: for redirects to a path that a client sent.
pub(super) fn is_local_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>".contains(&byte);
    path.len() <= 2048
        && path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(plain)
}

/// The result of reading a form.
pub(super) type FormResult = Result<Form<FormFields>, axum::extract::rejection::FormRejection>;

/// The fields of a form; the default ones if it could not be read.
pub(super) fn form_fields(sent: FormResult) -> FormFields {
    sent.map(|Form(fields)| fields).unwrap_or_default()
}
