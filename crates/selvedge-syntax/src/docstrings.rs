//! Doctests of Python sources: merges the examples of one version into the source of another.
//!
//! Docstrings are found by indentation and by the ends of strings and brackets, without parsing statements.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Begins a line of an example that is executed.
const PROMPT: &str = ">>>";

/// Returns the source `after` with the examples of `before`; `None` where they belong to a definition that
/// was removed.
pub(crate) fn merge(before: &str, after: &str) -> Option<String> {
    if !before.contains(PROMPT) && !after.contains(PROMPT) {
        return Some(after.to_owned());
    }
    let (old, new) = (Docstrings::parse(before), Docstrings::parse(after));
    let originals = old.with_names_of(before, &new);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (path, range) in &new.texts {
        let now = &after[range.clone()];
        let original = originals.get(path).map_or("", String::as_str);
        match (examples(original), examples(now)) {
            (originals, now) if originals == now => {}
            // Added examples are not run.
            (originals, _) if originals.is_empty() => {
                edits.push((range.clone(), now.replace(PROMPT, "> >")));
            }
            _ => edits.push((range.clone(), original.to_owned())),
        }
    }
    for (path, original) in &originals {
        if new.texts.contains_key(path) || examples(original).is_empty() {
            continue;
        }
        let (at, indent) = new.bodies.get(path)?;
        edits.push((*at..*at, format!("{original}\n{indent}")));
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut merged = String::with_capacity(after.len());
    let mut end = 0;
    for (range, text) in edits {
        merged += &after[end..range.start];
        merged += &text;
        end = range.end;
    }
    merged += &after[end..];
    Some(merged)
}

/// The executed lines of a docstring, and the lines with their expected output.
fn examples(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        is_inside = !line.is_empty() && (is_inside || line.starts_with(PROMPT));
        is_inside
    });
    lines.collect()
}

/// A docstring with a new name in its examples.
fn rename_in_examples(text: &str, from: &str, to: &str) -> String {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let rename = |line: &str| {
        let mut renamed = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(from) {
            let end = at + from.len();
            let is_whole = !rest[..at].ends_with(is_word) && !rest[end..].starts_with(is_word);
            renamed += &rest[..at];
            renamed += if is_whole { to } else { from };
            rest = &rest[end..];
        }
        renamed + rest
    };
    let lines = text.split_inclusive('\n').map(|line| {
        let is_code = [PROMPT, "..."]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark));
        if is_code {
            rename(line)
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

/// The docstrings of a source, by the path of the documented item; the module's path is empty.
#[derive(Debug, Default)]
struct Docstrings<'a> {
    texts: BTreeMap<String, Range<usize>>,
    /// Start and indentation of each definition's body.
    bodies: BTreeMap<String, (usize, &'a str)>,
}

impl<'a> Docstrings<'a> {
    fn parse(text: &'a str) -> Self {
        let mut found = Self::default();
        let mut seen = BTreeSet::new();
        // Headers of definitions: indentation and path.
        let mut scopes: Vec<(usize, String)> = Vec::new();
        let mut opened = Some(String::new());
        for line in logical_lines(text) {
            let indent = &text[line.start - line.indent..line.start];
            scopes.retain(|(above, _)| *above < line.indent);
            if let Some(path) = opened.take() {
                found.bodies.insert(path.clone(), (line.start, indent));
                if let Some(string) = string_of(text, &line) {
                    found.texts.insert(path, string);
                }
            }
            if let Some(name) = defined_name(&text[line.start..line.end]) {
                let above = scopes.last().map_or("", |(_, path)| path);
                let mut path = format!("{above}.{name}");
                // Overloads and definitions in branches share a path.
                while !seen.insert(path.clone()) {
                    path.push('\'');
                }
                scopes.push((line.indent, path.clone()));
                opened = Some(path);
            }
        }
        found
    }

    /// The docstrings, by the paths and with the names that their definitions have in another version. A definition was
    /// renamed if it is the only one of its scope that is gone, and one is new.
    fn with_names_of(&self, text: &str, other: &Self) -> BTreeMap<String, String> {
        let (lost, added) = (self.missing_in(other), other.missing_in(self));
        let renamed: Vec<(&str, &str)> = lost
            .iter()
            .filter_map(
                |(scope, lost)| match (lost.as_slice(), added.get(scope)?.as_slice()) {
                    ([from], [to]) => Some((*from, *to)),
                    _ => None,
                },
            )
            .collect();
        let texts = self.texts.iter().map(|(path, range)| {
            let new_path = renamed.iter().find_map(|(from, to)| {
                let rest = path.strip_prefix(from)?;
                (rest.is_empty() || rest.starts_with('.')).then(|| format!("{to}{rest}"))
            });
            let text = text[range.clone()].to_owned();
            let text = renamed.iter().fold(text, |text, (from, to)| {
                rename_in_examples(&text, last_name(from), last_name(to))
            });
            (new_path.unwrap_or_else(|| path.clone()), text)
        });
        texts.collect()
    }

    /// The outermost definitions that another version lacks, by the path of their scope.
    fn missing_in(&self, other: &Self) -> BTreeMap<&str, Vec<&str>> {
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in self.bodies.keys().filter(|path| !path.is_empty()) {
            let scope = path.rsplit_once('.').map_or("", |(scope, _)| scope);
            let is_outermost = scope.is_empty() || other.bodies.contains_key(scope);
            if is_outermost && !other.bodies.contains_key(path) {
                missing.entry(scope).or_default().push(path);
            }
        }
        missing
    }
}

/// The name of a definition, by its path.
fn last_name(path: &str) -> &str {
    let name = path.rsplit('.').next().unwrap_or_default();
    name.trim_end_matches('\'')
}

/// The lines of a statement, without the indentation before the first.
struct LogicalLine {
    start: usize,
    end: usize,
    indent: usize,
}

/// Statements that begin a line, without comments and empty lines.
fn logical_lines(text: &str) -> Vec<LogicalLine> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let line = at;
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\x0c')) {
            at += 1;
        }
        let start = at;
        let end = statement_end(bytes, start);
        if !matches!(bytes.get(start), None | Some(b'\n' | b'\r' | b'#')) {
            lines.push(LogicalLine {
                start,
                end,
                indent: start - line,
            });
        }
        at = end + 1;
    }
    lines
}

/// Position of the line break that ends a statement.
fn statement_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' if depth == 0 => return at,
            b'\\' => at += 1,
            b'#' => {
                while bytes.get(at + 1).is_some_and(|next| *next != b'\n') {
                    at += 1;
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' => at = string_end(bytes, at) - 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Position of the end of the string whose quote is at `start`. An unclosed string ends with its line or the
/// text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let is_long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if is_long { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if !is_long => return at,
            _ if *byte == quote && !is_long => return at + 1,
            _ if is_long && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The string, if the statement consists of nothing else.
fn string_of(text: &str, line: &LogicalLine) -> Option<Range<usize>> {
    let statement = &text[line.start..line.end];
    let prefix = statement.find(['"', '\''])?;
    let is_plain = matches!(&statement[..prefix], "" | "r" | "R" | "u" | "U");
    let end = string_end(text.as_bytes(), line.start + prefix);
    let rest = text.get(end..line.end)?.trim();
    (is_plain && (rest.is_empty() || rest.starts_with('#'))).then_some(line.start..end)
}

/// The name of the function or class, if the statement is a header whose body follows on other lines.
fn defined_name(statement: &str) -> Option<&str> {
    let statement = statement
        .strip_prefix("async ")
        .map_or(statement, str::trim_start);
    let rest = ["def ", "class "]
        .iter()
        .find_map(|word| statement.strip_prefix(word));
    let rest = rest?.trim_start();
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_')?;
    let code = statement
        .rsplit_once('#')
        .map_or(statement, |(code, _)| code);
    let is_header = code.trim_end().ends_with(':') || statement.trim_end().ends_with(':');
    is_header.then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "\"\"\"Sums.\"\"\"\n\n\ndef net(lines):\n    \"\"\"Returns it.\n\n    >>> net([1])\n    1\n    \"\"\"\n    return 0\n\n\nclass Cart:\n    def add(self,\n            item):  # one\n        '''Adds.\n\n        >>> Cart().add(2)\n        2\n        '''\n        return item\n";

    #[test]
    fn merge_brings_original_examples_back() {
        let changed = BASE
            .replace("    1\n", "    0\n")
            .replace("return 0", "return 1");
        let expected = BASE.replace("return 0", "return 1");
        assert_eq!(merge(BASE, &changed).as_deref(), Some(expected.as_str()));
        let emptied = BASE.replace(
            "        '''Adds.\n\n        >>> Cart().add(2)\n        2\n        '''\n",
            "",
        );
        assert_eq!(merge(BASE, &emptied).as_deref(), Some(BASE));
        let rewritten = BASE.replace("    >>> net([1])\n    1\n", "");
        assert_eq!(merge(BASE, &rewritten).as_deref(), Some(BASE));
    }

    #[test]
    fn merge_leaves_all_else_to_the_change() {
        let prose = BASE.replace("Returns it.", "Returns the sum.");
        assert_eq!(merge(BASE, &prose).as_deref(), Some(prose.as_str()));
        let added = BASE.replace("Sums.", "Sums.\n\n>>> 1 + 1\n2\n");
        let merged = merge(BASE, &added).unwrap();
        assert!(
            merged.contains("> > 1 + 1") && merged.contains(">>> net([1])"),
            "{merged}"
        );
        let text = "x = \"\"\"\ndef a():\n    '''\n    >>> a()\n    '''\n\"\"\"\n";
        assert_eq!(merge("", text).as_deref(), Some(text));
    }

    #[test]
    fn merge_refuses_examples_of_what_is_gone() {
        let start = BASE.find("def net").unwrap();
        let end = BASE.find("class Cart").unwrap();
        let removed = BASE.replace(&BASE[start..end], "");
        assert_eq!(merge(BASE, &removed), None);
        let replaced = BASE.replace("def net", "def gross(lines):\n    return 0\n\n\ndef total");
        assert_eq!(merge(BASE, &replaced), None);
    }

    #[test]
    fn merge_follows_a_renamed_definition() {
        let changed = BASE
            .replace("net", "gross")
            .replace("Cart", "Basket")
            .replace("    1\n", "    0\n");
        // Two definitions of one scope have new names.
        assert_eq!(merge(BASE, &changed), None);
        let method = BASE.replace("def add", "def put").replace(".add(", ".put(");
        assert_eq!(merge(BASE, &method).as_deref(), Some(method.as_str()));
        let function = BASE.replace("net", "gross").replace("    1\n", "    0\n");
        assert_eq!(merge(BASE, &function), Some(BASE.replace("net", "gross")));
        let class = BASE
            .replace("Cart", "Basket")
            .replace("        2\n", "        3\n");
        assert_eq!(merge(BASE, &class), Some(BASE.replace("Cart", "Basket")));
    }
}
