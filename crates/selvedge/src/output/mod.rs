//! What people and scripts read: human text, one JSON object, or JSON lines.
//!
//! Whatever an agent, a check or a repository printed passes through [`plain`] before it reaches a
//! terminal. Machine formats own standard output alone; everything else goes to standard error.

pub(crate) mod amounts;
pub(crate) mod gates;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod story;
pub(crate) mod style;
mod text;
mod words;

pub(crate) use text::{indented, one_line, plain};

/// How a command speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: live on a terminal, plain lines elsewhere.
    #[default]
    Human,
    /// One JSON object at the end.
    Json,
    /// Every event as a line of JSON, the result as the last one.
    Jsonl,
}
