//! Checks whether the bytes of a file parse in their language, and reports the line and column of the error.
//!
//! Contains the parsers that are Rust crates, the table that maps file names to languages, and the reasons to
//! doubt an error. A wrong verdict makes an agent fix code that is not broken, so every uncertain error is
//! [`SyntaxVerdict::Unsure`]. Languages that need an external program (Python, JavaScript, …) are only named here.
//! The crate is pure: no files, no processes. A parser may exhaust the stack on hostile input, so callers run
//! it in a process that may crash.

mod balance;
mod csv;
mod docstrings;
mod intentional_errors;
mod json;
mod language;
mod position;
mod rust;
mod split;
mod sql;
mod toml;
mod xml;
mod yaml;

pub use intentional_errors::reason_to_doubt;
pub use language::{FileLanguage, language_of};
pub use split::{
    MovedExamples, MovedTests, SourceVersions, SplitTests, find_moved_tests, merge_selected_tests,
    split_tests,
};
pub use yaml::indent_closing_brackets;

use std::borrow::Cow;

/// Position and reason of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters; absent where the parser does not report it.
    pub column: Option<u32>,
    /// The parser's message, one line.
    pub message: String,
}

/// Result of parsing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxVerdict {
    /// The file parses, or its readers are known to accept it.
    Parses,
    /// The file does not parse.
    Broken(SyntaxError),
    /// The file does not parse, but this may be intended or a limit of the parser; with the reason for the
    /// doubt.
    Unsure(SyntaxError, &'static str),
}

/// Parses a file; `None` for languages without a parser in this crate. `name` is the file's path, which
/// decides how lenient its readers are.
pub fn parse(language: FileLanguage, name: &str, bytes: &[u8]) -> Option<SyntaxVerdict> {
    let parser: fn(&str, &str) -> SyntaxVerdict = match language {
        FileLanguage::Json => json::parse,
        FileLanguage::JsonLines => json::parse_lines,
        FileLanguage::Yaml => yaml::parse,
        FileLanguage::Toml => toml::parse,
        FileLanguage::Xml => xml::parse,
        FileLanguage::Csv => csv::parse,
        FileLanguage::Sql => sql::parse,
        FileLanguage::Rust => rust::parse,
        FileLanguage::C | FileLanguage::Cpp => balance::parse,
        FileLanguage::Python
        | FileLanguage::JavaScript
        | FileLanguage::TypeScript
        | FileLanguage::Tsx
        | FileLanguage::Go
        | FileLanguage::Shell
        | FileLanguage::Ruby
        | FileLanguage::Php
        | FileLanguage::Java => return None,
    };
    Some(match text(bytes) {
        Ok(text) => parser(name, &text),
        Err(fault) => SyntaxVerdict::Unsure(fault, "it is not UTF-8"),
    })
}

/// The text without its byte order mark.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, SyntaxError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let valid = String::from_utf8_lossy(valid);
            Err(position::error_at_offset(
                &valid,
                valid.len(),
                "a byte that is not UTF-8",
            ))
        }
    }
}
