//! Whether files parse in their languages: each is asked of a parser, and where that says no, of
//! whoever else knows the language, before anybody is told.
//!
//! The bytes are laid out in a folder of our own under names of our own, and every parser runs there
//! as a supervised process with its clock: a hostile name or file can at worst make its parser give
//! out, and no setting, module or plug-in of the workspace is ever read, let alone run. The parsers
//! that are Rust crates run in a process of this program's [subcommand](run_parser). Nothing here decides what a
//! file that does not parse means for an attempt.

mod answer;
mod batch;
mod checker;
mod failure;
mod parser_main;
mod programs;
mod scripts;
mod second_opinion;
mod session;

pub use checker::{ParserVerdict, SourceFile, SyntaxChecker};
pub(crate) use failure::parse_failure;
pub use parser_main::run_parser;
pub use programs::ParserPrograms;
pub use session::ParserContext;
