//! Login and error pages.

use askama::Template;

use super::frame::PageFrame;

/// Asks for a token, or explains how to get a login link.
#[derive(Template)]
#[template(path = "entry.html")]
pub(crate) struct LoginPage {
    pub(crate) frame: PageFrame,
    /// Whether a token can be entered; otherwise a login link is printed in a terminal.
    pub(crate) needs_token: bool,
    /// The path that begins a login at an identity provider, if there is one.
    pub(crate) single_sign_on: Option<String>,
    /// Why the last login failed.
    pub(crate) refused: String,
    /// Whether the user has just logged in, and the page only forwards them to the dashboard.
    pub(crate) entered: bool,
    /// Path to continue at after the login.
    pub(crate) next: String,
}

/// An error with a suggestion.
#[derive(Template)]
#[template(path = "trouble.html")]
pub(crate) struct ErrorPage {
    pub(crate) frame: PageFrame,
    pub(crate) what: String,
    pub(crate) advice: &'static str,
}
