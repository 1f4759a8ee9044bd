//! The colour scheme, as a cookie: without a script, and without a flash of the other one.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{COOKIE, HeaderMap, REFERER, SET_COOKIE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri};
use axum::response::Response;

use super::SharedDashboard;
use super::auth::RequestSession;
use super::respond::{FormResult, form_fields, is_local_path, redirect_to};

const COOKIE_NAME: &str = "selvedge_theme";

/// The scheme of a request: `light`, `dark`, or empty for the system's.
pub(super) fn theme_of(headers: &HeaderMap) -> &'static str {
    let values = headers.get_all(COOKIE).into_iter();
    let mut pairs = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(name, _)| *name == COOKIE_NAME);
    known_theme(found.map_or("", |(_, value)| value))
}

fn known_theme(word: &str) -> &'static str {
    match word {
        "light" => "light",
        "dark" => "dark",
        _ => "",
    }
}

/// `POST /theme`: returns to the page that sent the form.
pub(super) async fn set_theme(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    headers: HeaderMap,
    sent: FormResult,
) -> Response {
    let fields = form_fields(sent);
    let from = headers.get(REFERER).and_then(|it| it.to_str().ok());
    let from: Option<Uri> = from.and_then(|it| it.parse().ok());
    let path = from.as_ref().and_then(Uri::path_and_query);
    let path = path.map_or("/", PathAndQuery::as_str);
    let mut response = redirect_to(if is_local_path(path) { path } else { "/" });
    if !login.accepts_form_token(&fields.csrf) {
        return response;
    }
    let theme = known_theme(&fields.theme);
    let age = if theme.is_empty() { 0 } else { 31_536_000 };
    let secure = if dashboard.authenticator.is_secure() {
        "; Secure"
    } else {
        ""
    };
    let cookie =
        format!("{COOKIE_NAME}={theme}; Path=/; HttpOnly; SameSite=Strict{secure}; Max-Age={age}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}
