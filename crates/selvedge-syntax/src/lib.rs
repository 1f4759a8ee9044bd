//! Says whether the bytes of a file parse in their language, and if not, at which line and column.
//!
//! Here stand the parsers that are Rust crates, the table that says which language a file's name
//! means, and the reasons to doubt an error: a verdict that is wrong sends somebody to mend what is
//! not broken, so whatever is not certain is [`Verdict::Unsure`]. Languages that are left to a
//! program of their own (Python, Go, …) are only named here. Pure: no files, no processes; but a
//! parser may exhaust the stack on hostile input, so callers run it in a process that may die.

mod balance;
mod csv;
mod docstrings;
mod doubt;
mod json;
mod language;
mod position;
mod rust;
mod script;
mod split;
mod sql;
mod toml;
mod xml;
mod yaml;

pub use doubt::doubt;
pub use language::{Language, language_of};
pub use split::{
    MovedExamples, MovedTests, SourceVersions, SplitTests, find_moved_tests, split_tests,
    with_attempts_tests,
};

use std::borrow::Cow;

/// Where and why parsing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters; absent where the parser does not tell.
    pub column: Option<u32>,
    /// In the parser's words, one line.
    pub message: String,
}

/// What a parser says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It parses, or its readers are known to accept it.
    Parses,
    /// It does not.
    Broken(Fault),
    /// It does not, but that may be meant, or be the parser's fault; and why.
    Unsure(Fault, &'static str),
}

/// Parses a file of a language that has a parser here; none for the others. `name` is the file's
/// path, which decides how lenient its readers are.
pub fn parse(language: Language, name: &str, bytes: &[u8]) -> Option<Verdict> {
    let parser: fn(&str, &str) -> Verdict = match language {
        Language::Json => json::parse,
        Language::JsonLines => json::parse_lines,
        Language::Yaml => yaml::parse,
        Language::Toml => toml::parse,
        Language::Xml => xml::parse,
        Language::Csv => csv::parse,
        Language::Sql => sql::parse,
        Language::JavaScript | Language::TypeScript => script::parse,
        Language::Rust => rust::parse,
        Language::C | Language::Cpp => balance::parse,
        Language::Python
        | Language::Go
        | Language::Shell
        | Language::Ruby
        | Language::Php
        | Language::Java => return None,
    };
    Some(match text(bytes) {
        Ok(text) => parser(name, &text),
        Err(fault) => Verdict::Unsure(fault, "it is not UTF-8"),
    })
}

/// The text without its byte order mark.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let valid = String::from_utf8_lossy(valid);
            Err(position::fault(
                &valid,
                valid.len(),
                "a byte that is no UTF-8",
            ))
        }
    }
}
