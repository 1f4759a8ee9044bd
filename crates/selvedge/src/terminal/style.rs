//! Text styles. `anstream` removes them if colours are not wanted: no terminal, `NO_COLOR`, `TERM=dumb`.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

pub(crate) fn strong(text: impl Display) -> String {
    styled(Style::new().bold(), text)
}

/// For less important text.
pub(crate) fn dim(text: impl Display) -> String {
    styled(Style::new().dimmed(), text)
}

/// For results that passed.
pub(crate) fn good(text: impl Display) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// For results that failed.
pub(crate) fn bad(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// For results that need attention.
pub(crate) fn warning(text: impl Display) -> String {
    styled(AnsiColor::Yellow.on_default(), text)
}

/// For the label of an error.
pub(crate) fn error(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}
