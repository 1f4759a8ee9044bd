//! Text for a terminal: styles, and sanitizing of untrusted text.

pub(crate) mod style;
mod text;

pub(crate) use text::{indent_lines, last_chars, one_line};

/// The number of columns of the terminal on standard output; `None` if it is not a terminal.
pub(crate) fn output_width() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(columns.0.into())
}
