//! The few styles there are. `anstream` drops them where colours are not wanted: no terminal,
//! `NO_COLOR`, `TERM=dumb`.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What stands out.
pub(crate) fn strong(text: impl Display) -> String {
    styled(Style::new().bold(), text)
}

/// What may be overlooked.
pub(crate) fn dim(text: impl Display) -> String {
    styled(Style::new().dimmed(), text)
}

/// What passed.
pub(crate) fn good(text: impl Display) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// What failed.
pub(crate) fn bad(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// What needs attention.
pub(crate) fn warning(text: impl Display) -> String {
    styled(AnsiColor::Yellow.on_default(), text)
}

/// The word before an error.
pub(crate) fn error(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}
