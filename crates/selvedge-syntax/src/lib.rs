//! Says whether the bytes of a file parse in their language, and if not, at which line and column.
//!
//! Here stand the parsers that are Rust crates, the table that says which language a file's name
//! means, and the reasons to doubt an error: a verdict that is wrong sends somebody to mend what is
//! not broken, so whatever is not certain is [`SyntaxVerdict::Unsure`]. Languages that are left to a
//! program of their own (Python, Go, …) are only named here. Pure: no files, no processes; but a
//! parser may exhaust the stack on hostile input, so callers run it in a process that may die.

mod balance;
mod csv;
mod docstrings;
mod intentional_errors;
mod javascript;
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

use std::borrow::Cow;

/// Where and why parsing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters; absent where the parser does not tell.
    pub column: Option<u32>,
    /// In the parser's words, one line.
    pub message: String,
}

/// What a parser says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxVerdict {
    /// It parses, or its readers are known to accept it.
    Parses,
    /// It does not.
    Broken(SyntaxError),
    /// It does not, but that may be meant, or be the parser's fault; and why.
    Unsure(SyntaxError, &'static str),
}

/// Parses a file of a language that has a parser here; none for the others. `name` is the file's
/// path, which decides how lenient its readers are.
pub fn parse(language: FileLanguage, name: &str, bytes: &[u8]) -> Option<SyntaxVerdict> {
    let parser: fn(&str, &str) -> SyntaxVerdict = match language {
        FileLanguage::Json => json::parse,
        FileLanguage::JsonLines => json::parse_lines,
        FileLanguage::Yaml => yaml::parse,
        FileLanguage::Toml => toml::parse,
        FileLanguage::Xml => xml::parse,
        FileLanguage::Csv => csv::parse,
        FileLanguage::Sql => sql::parse,
        FileLanguage::JavaScript | FileLanguage::TypeScript => javascript::parse,
        FileLanguage::Rust => rust::parse,
        FileLanguage::C | FileLanguage::Cpp => balance::parse,
        FileLanguage::Python
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
                "a byte that is no UTF-8",
            ))
        }
    }
}
