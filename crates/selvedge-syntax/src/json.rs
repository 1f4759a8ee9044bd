//! JSON, JSON with comments, and JSON Lines.
//!
//! Many programs accept more than JSON in a `.json` file. Comments are never written by accident, so a file
//! with comments is assumed to have readers that skip them, unless its readers are known to be strict. A
//! trailing comma is an easy mistake: it stays an error unless the readers are known to accept it.

use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{ParseOptions, parse_to_value};
use serde::de::IgnoredAny;

use crate::position::{error_at, error_at_offset};
use crate::{SyntaxError, SyntaxVerdict};

/// Files that are read only as strict JSON.
const STRICT_JSON_NAMES: [&str; 6] = [
    "package.json",
    "package-lock.json",
    "composer.json",
    "composer.lock",
    "Pipfile.lock",
    "flake.lock",
];

/// Name endings of files whose readers accept comments and trailing commas.
const COMMENTED_JSON_SUFFIXES: [&str; 13] = [
    ".jsonc",
    ".code-workspace",
    ".code-snippets",
    ".babelrc",
    ".swcrc",
    ".eslintrc.json",
    ".jshintrc",
    "jsconfig.json",
    "devcontainer.json",
    "tslint.json",
    "api-extractor.json",
    "deno.json",
    "biome.json",
];

/// The suffixes among [`COMMENTED_JSON_SUFFIXES`] whose readers accept JSON5.
const JSON5_SUFFIXES: [&str; 1] = [".babelrc"];

/// Folders of editors and name prefixes whose files may have comments.
const EDITOR_FOLDERS: [&str; 2] = [".vscode/", ".devcontainer/"];
const CONFIG_NAME_PREFIXES: [&str; 2] = ["tsconfig", "jsconfig"];

pub(crate) fn parse(name: &str, text: &str) -> SyntaxVerdict {
    let Err(error) = parse_strict(text) else {
        return SyntaxVerdict::Parses;
    };
    let file = name.rsplit('/').next().unwrap_or(name);
    let ending = file.rsplit('.').next().unwrap_or_default();
    let is_strict = STRICT_JSON_NAMES.contains(&file) || ending == "ipynb";
    let takes_comments = COMMENTED_JSON_SUFFIXES
        .iter()
        .any(|end| file.ends_with(end))
        || CONFIG_NAME_PREFIXES
            .iter()
            .any(|start| file.starts_with(start))
        || EDITOR_FOLDERS.iter().any(|folder| name.contains(folder));
    if takes_comments {
        let is_json5 = JSON5_SUFFIXES.contains(&file);
        return match parse_lenient(text, is_json5) {
            Ok(()) => SyntaxVerdict::Parses,
            Err(error) => to_verdict(text, error),
        };
    }
    if !is_strict && has_comments(text) && parse_lenient(text, false).is_ok() {
        return SyntaxVerdict::Parses;
    }
    if is_strict {
        return to_verdict(text, error);
    }
    if text.trim().is_empty() {
        return SyntaxVerdict::Unsure(error.0, "it is empty");
    }
    if count_values(text) > 1 {
        return SyntaxVerdict::Unsure(error.0, "it contains several values in sequence");
    }
    to_verdict(text, error)
}

/// Parses one value per line, or a sequence of values that each span several lines.
pub(crate) fn parse_lines(_: &str, text: &str) -> SyntaxVerdict {
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Err((error, _)) = parse_strict(line) {
            let column = error.column.unwrap_or(1);
            let column = usize::try_from(column).unwrap_or(1);
            let error = error_at(index + 1, column, &error.message);
            return if count_values(text) > 1 {
                SyntaxVerdict::Unsure(error, "its values are not one per line")
            } else {
                SyntaxVerdict::Broken(error)
            };
        }
    }
    SyntaxVerdict::Parses
}

/// An error, and whether it only means that the parser's depth limit was reached.
type JsonParseError = (SyntaxError, bool);

fn to_verdict(text: &str, (fault, too_deep): JsonParseError) -> SyntaxVerdict {
    if too_deep {
        SyntaxVerdict::Unsure(fault, "it is nested too deeply for the parser")
    } else if has_python_numbers(text) {
        SyntaxVerdict::Unsure(
            fault,
            "it may be for a parser that accepts NaN and Infinity",
        )
    } else {
        SyntaxVerdict::Broken(fault)
    }
}

fn parse_strict(text: &str) -> Result<(), JsonParseError> {
    serde_json::from_str::<IgnoredAny>(text)
        .map(drop)
        .map_err(|error| {
            let message = error.to_string();
            let words = message.split(" at line ").next().unwrap_or_default();
            let too_deep = words.starts_with("recursion limit");
            (error_at(error.line(), error.column(), words), too_deep)
        })
}

/// Accepts comments and trailing commas; with `json5`, all of JSON5.
fn parse_lenient(text: &str, json5: bool) -> Result<(), JsonParseError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: json5,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: json5,
        allow_hexadecimal_numbers: json5,
        allow_unary_plus_numbers: json5,
        allow_bare_decimal_point_numbers: json5,
        allow_non_finite_numbers: json5,
        allow_extended_string_escapes: json5,
    };
    parse_to_value(text, &options).map(drop).map_err(|error| {
        let too_deep = matches!(error.kind(), ParseErrorKind::NestingDepthExceeded);
        (
            error_at_offset(text, error.range().start, error.kind().to_string()),
            too_deep,
        )
    })
}

/// Whether the text has a comment outside of strings.
fn has_comments(text: &str) -> bool {
    let mut bytes = text.bytes().peekable();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => drop(bytes.next()),
            b'"' => in_string = !in_string,
            b'/' if !in_string && matches!(bytes.peek(), Some(b'/' | b'*')) => return true,
            _ => {}
        }
    }
    false
}

/// Number of consecutive complete values; `0` if anything in the text is not one.
fn count_values(text: &str) -> usize {
    let stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    stream
        .map(Result::ok)
        .collect::<Option<Vec<_>>>()
        .map_or(0, |values| values.len())
}

fn has_python_numbers(text: &str) -> bool {
    let finite = text
        .replace("-Infinity", "0")
        .replace("Infinity", "0")
        .replace("NaN", "0");
    finite.len() != text.len() && parse_strict(&finite).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verdict: SyntaxVerdict) -> Option<u32> {
        match verdict {
            SyntaxVerdict::Broken(fault) => Some(fault.line),
            SyntaxVerdict::Parses | SyntaxVerdict::Unsure(..) => None,
        }
    }

    #[test]
    fn json_comments_are_accepted_by_file_name() {
        let commented = "{\n  // why\n  \"a\": [1, 2,],\n}";
        assert_eq!(
            parse("tsconfig.base.json", commented),
            SyntaxVerdict::Parses
        );
        assert_eq!(
            parse(".vscode/settings.json", commented),
            SyntaxVerdict::Parses
        );
        assert_eq!(parse("data.json", commented), SyntaxVerdict::Parses);
        assert_eq!(line(parse("web/package.json", commented)), Some(2));
        assert_eq!(line(parse("data.json", "{\"a\": \"//\",\n}")), Some(2));
        assert_eq!(
            line(parse("tsconfig.json", "{\n\"a\": 1\n\"b\": 2}")),
            Some(2)
        );
    }

    #[test]
    fn json_uncertain_errors_are_unsure() {
        let unsure = |text: &str| matches!(parse("data.json", text), SyntaxVerdict::Unsure(..));
        assert!(unsure("{\"a\": NaN}"));
        assert!(unsure("{}\n{}\n"));
        let deep = "[".repeat(600) + &"]".repeat(600);
        assert_eq!(parse("data.json", &deep), SyntaxVerdict::Parses);
        assert!(matches!(
            parse("tsconfig.json", &format!("// why\n{deep}")),
            SyntaxVerdict::Unsure(..)
        ));
        assert_eq!(line(parse("data.json", "{'a': 1}")), Some(1));
    }

    #[test]
    fn json_lines_are_parsed_separately() {
        assert_eq!(parse_lines("", "{}\n\n[1]\n"), SyntaxVerdict::Parses);
        assert_eq!(line(parse_lines("", "{}\n[1,\n{}\n")), Some(2));
        assert!(matches!(
            parse_lines("", "{\n}\n{}\n"),
            SyntaxVerdict::Unsure(..)
        ));
    }
}
