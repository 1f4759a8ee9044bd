//! Whether files parse in their languages: each is asked of a parser, and where that says no, of
//! whoever else knows the language, before anybody is told.
//!
//! The bytes are laid out in a folder of our own under names of our own, and every parser runs there
//! as a supervised process with its clock: a hostile name or file can at worst make its parser give
//! out, and no setting, module or plug-in of the workspace is ever read, let alone run. The parsers
//! that are Rust crates run in a process of this program's [`face`]. Nothing here decides what a
//! file that does not parse means for an attempt.

mod answer;
mod batch;
mod face;
mod failure;
mod look;
mod programs;
mod scripts;
mod second;
mod session;

pub use face::face;
pub(crate) use failure::does_not_parse;
pub use look::{Item, Look, Said};
pub use programs::Found;
pub use session::Bench;
