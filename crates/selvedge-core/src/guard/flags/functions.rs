//! The functions of a source, by their headers: names, parameters and bodies. Not a parser: a header that it does not
//! recognise is no function.

use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage;
use super::change::end_of_block;

/// A function of a source.
#[derive(Debug)]
pub(super) struct Function<'c> {
    pub(super) name: &'c str,
    pub(super) parameters: BTreeSet<&'c str>,
    /// The line of the header, and the line after the body.
    pub(super) header: usize,
    pub(super) end: usize,
}

static KEYWORD_HEADER: Pattern = Pattern::new(
    r"\b(?:def|fn|func|fun|function)\b\s*(?:\([^()]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]*[?!]?)?\s*(?:<[^()]*>)?\s*(?:\(|$)",
);
/// `add(a, b) {`, `int add(int a, int b)`, `const add = (a, b) =>`.
static PLAIN_HEADER: Pattern = Pattern::new(
    r"^\s*(?:(?:const|let|var|export|default|async|static|get|set|public|private|protected|final|inline|extern|override)\s+|[\w:<>\[\]]+[\s*&]+)*([A-Za-z_$][\w$]*)\s*(?:=\s*(?:async\s*)?(?:function\s*)?)?\((.*)\)\s*(?::\s*[\w<>\[\]| ]+)?\s*(?:=>|\{\s*$|\{.*\}\s*$)",
);
const STATEMENTS: [&str; 9] = [
    "if", "for", "while", "switch", "catch", "return", "else", "with", "function",
];

/// The functions of a text without comments and strings.
pub(super) fn functions(language: SourceLanguage, code: &[String]) -> Vec<Function<'_>> {
    let headers = (0..code.len()).filter_map(|line| function_at(language, code, line));
    headers.collect()
}

fn function_at(language: SourceLanguage, code: &[String], line: usize) -> Option<Function<'_>> {
    let text = code[line].as_str();
    if !text.contains('(') && language != SourceLanguage::Ruby {
        return None;
    }
    let (name, after_name) = match KEYWORD_HEADER.regex()?.captures(text) {
        Some(found) => {
            let name = found.get(1).map_or("", |name| name.as_str());
            let end = found.get(0)?.end();
            (
                name,
                end.saturating_sub(usize::from(text[..end].ends_with('('))),
            )
        }
        None if !has_plain_headers(language) => return None,
        None => {
            let found = PLAIN_HEADER.regex()?.captures(text)?;
            let name = found.get(1)?;
            if STATEMENTS.contains(&name.as_str()) {
                return None;
            }
            (name.as_str(), found.get(2)?.start().saturating_sub(1))
        }
    };
    let mut parameters: BTreeSet<&str> = BTreeSet::new();
    let mut depth = 0_i32;
    'lines: for (index, part) in code.iter().enumerate().skip(line).take(MAX_HEADER) {
        let part = if index == line {
            part.get(after_name..)?
        } else {
            part
        };
        let mut word = None;
        for (at, letter) in part.char_indices() {
            let is_word = letter.is_alphanumeric() || letter == '_';
            match (is_word && depth > 0, word) {
                (true, None) => word = Some(at),
                (false, Some(start)) => {
                    parameters.insert(&part[start..at]);
                    word = None;
                }
                _ => {}
            }
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth <= 0 && (letter == ')' || !letter.is_whitespace()) {
                break 'lines;
            }
        }
    }
    let end = match language {
        SourceLanguage::Python | SourceLanguage::Ruby => end_by_indentation(language, code, line),
        _ => end_of_block(code, line).unwrap_or(line + 1),
    };
    Some(Function {
        name,
        parameters,
        header: line,
        end: end.max(line + 1),
    })
}

/// Parameters take at most as many lines.
const MAX_HEADER: usize = 12;

fn has_plain_headers(language: SourceLanguage) -> bool {
    matches!(
        language,
        SourceLanguage::JavaScript | SourceLanguage::C | SourceLanguage::Curly
    )
}

/// The line after the lines that are indented more; a line that closes the header or the body belongs to it.
fn end_by_indentation(language: SourceLanguage, code: &[String], header: usize) -> usize {
    static OF_BODY: Pattern = Pattern::new(r"^\s*(?:rescue|ensure|else)\b");
    let own = indentation(&code[header]);
    let is_ruby = language == SourceLanguage::Ruby;
    let ends = |line: &usize| {
        let text = code[*line].trim();
        let is_of_body = text.starts_with([')', ']', '}']) || (is_ruby && OF_BODY.is_match(text));
        !text.is_empty() && !is_of_body && indentation(&code[*line]) <= own
    };
    let end = (header + 1..code.len()).find(ends);
    let end = end.unwrap_or(code.len());
    end + usize::from(code.get(end).is_some_and(|it| it.trim() == "end"))
}

pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a line, members of `$this` and `@` among them.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| word.starts_with(|it: char| it.is_alphabetic() || it == '_'))
}
