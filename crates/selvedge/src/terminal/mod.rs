//! Text for a terminal: styles, and sanitizing of untrusted text.

pub(crate) mod style;
mod text;

pub(crate) use text::{indent_lines, one_line};
