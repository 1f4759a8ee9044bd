//! What people and scripts read: human text, one JSON object, or JSON lines.
//!
//! Whatever an agent, a check or a repository printed passes through [`plain`] before it reaches a
//! terminal. Machine formats own standard output alone; everything else goes to standard error.

pub mod amounts;
pub mod human;
pub mod json;
pub mod story;
pub mod style;
mod text;

pub use text::{indented, one_line, plain};

/// How a command speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: live on a terminal, plain lines elsewhere.
    #[default]
    Human,
    /// One JSON object at the end.
    Json,
    /// Every event as a line of JSON, the result as the last one.
    Jsonl,
}
