//! Checks whether files parse in their languages. Each file is parsed, and if a parser rejects it,
//! also by other programs for that language, before the failure is reported.
//!
//! The files are copied to our own folder under generated names, and every parser runs there as a
//! supervised process with a time limit, in the sandbox of checks: a hostile name or file can at
//! worst make its parser fail. No setting, module or plug-in of the workspace is read, let alone run,
//! except the project's own TypeScript: only it knows the TypeScript of the project. The parsers that
//! are Rust crates run in a separate process of this program ([`run_parser`]). This module does not
//! decide what a syntax error means for an attempt.

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
pub use selvedge_syntax::indent_closing_brackets;
pub use session::ParserContext;
