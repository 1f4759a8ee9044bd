//! The pages for whoever is not in yet, and for what went wrong.

use askama::Template;

use super::frame::PageFrame;

/// Asks for a token, or says how to come by a link.
#[derive(Template)]
#[template(path = "entry.html")]
pub(crate) struct LoginPage {
    pub(crate) frame: PageFrame,
    /// Whether a token can be typed; else a link is printed in a terminal.
    pub(crate) asks: bool,
    /// Why the last try failed.
    pub(crate) refused: String,
    /// Whether the visitor is in now, and the page only leads on.
    pub(crate) entered: bool,
}

/// What happened, and what to do now.
#[derive(Template)]
#[template(path = "trouble.html")]
pub(crate) struct ErrorPage {
    pub(crate) frame: PageFrame,
    pub(crate) what: String,
    pub(crate) advice: &'static str,
}
