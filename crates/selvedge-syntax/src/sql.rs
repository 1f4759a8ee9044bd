//! SQL. Dialects differ too much for one grammar, so an error is certain only where a plain statement is wrong in all of
//! them: brackets and quotations that are not closed, and a comma after a comma.

use crate::position::error_at_offset;
use crate::{SyntaxError, SyntaxVerdict};

/// Beginnings of statements that all dialects write alike, apart from dialect-specific clauses.
const PLAIN_STATEMENTS: [&str; 7] = [
    "select",
    "with",
    "insert",
    "update",
    "delete",
    "create table",
    "alter table",
];

/// Signs of what is not plain SQL: client commands, stored programs, templates, and characters that start a comment or
/// escape a quote in some dialects only.
const OTHER_MARKERS: [&str; 16] = [
    "delimiter",
    "\ngo\n",
    "\ngo\r",
    "\n/\n",
    "$$",
    "begin",
    "declare",
    "function",
    "procedure",
    "trigger",
    "package",
    "{{",
    "{%",
    "\\",
    "#",
    "@",
];

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let lower = text.to_ascii_lowercase();
    let is_dollar_quoted = || {
        let mut after_dollar = lower.split('$').skip(1);
        after_dollar.any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    };
    if OTHER_MARKERS.iter().any(|marker| lower.contains(marker)) || is_dollar_quoted() {
        return SyntaxVerdict::Parses;
    }
    let mut scan = Scan::new(text);
    while let Some(token) = scan.next_token() {
        if let Some((offset, message)) = scan.read(token)
            && scan.is_in_plain_statement(&lower)
        {
            return SyntaxVerdict::Broken(error_at_offset(text, offset, message));
        }
    }
    match scan.unclosed() {
        Some(error) if scan.is_in_plain_statement(&lower) => SyntaxVerdict::Broken(error),
        _ => SyntaxVerdict::Parses,
    }
}

/// A character of a statement outside of comments and quotations, with its offset. A quotation is its first quote.
type Token = (usize, char);

struct Scan<'a> {
    text: &'a str,
    offset: usize,
    /// Offset of the current statement.
    statement: Option<usize>,
    /// Offsets of the open brackets.
    open: Vec<usize>,
    last: Option<char>,
    /// The comment or quotation that never ends.
    endless: Option<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            statement: None,
            open: Vec::new(),
            last: None,
            endless: None,
        }
    }

    fn next_token(&mut self) -> Option<Token> {
        loop {
            let rest = self.text.get(self.offset..)?;
            let (at, first) = (self.offset, rest.chars().next()?);
            if rest.starts_with("--") {
                self.offset += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.skip_to("*/", at, 2)?;
            } else if first.is_whitespace() {
                self.offset += first.len_utf8();
            } else if matches!(first, '\'' | '"' | '`') {
                let quote = first.encode_utf8(&mut [0; 4]).to_owned();
                self.statement.get_or_insert(at);
                self.skip_to(&quote, at, 1)?;
                return Some((at, first));
            } else {
                self.offset += first.len_utf8();
                return Some((at, first));
            }
        }
    }

    /// Skips what begins at `start` and ends with `end`. A doubled quote reads as two quotations.
    fn skip_to(&mut self, end: &str, start: usize, opening: usize) -> Option<()> {
        let inside = self.text.get(start + opening..)?;
        let Some(length) = inside.find(end) else {
            self.endless = Some(start);
            return None;
        };
        self.offset = start + opening + length + end.len();
        Some(())
    }

    /// Takes a token; returns the error that it makes.
    fn read(&mut self, (at, token): Token) -> Option<(usize, &'static str)> {
        let error = match token {
            ',' if self.last == Some(',') => Some((at, "unexpected `,`")),
            ')' if self.open.pop().is_none() => Some((at, "unexpected `)`")),
            ';' if !self.open.is_empty() => Some((at, "unexpected `;`: a `(` is not closed")),
            _ => None,
        };
        if error.is_some() {
            return error;
        }
        if token == ';' {
            self.statement = None;
        } else {
            self.statement.get_or_insert(at);
        }
        if token == '(' {
            self.open.push(at);
        }
        self.last = Some(token);
        None
    }

    /// The error at the end of the file.
    fn unclosed(&self) -> Option<SyntaxError> {
        let (offset, message) = match (self.endless, self.open.last()) {
            (Some(start), _) => (start, "a quotation or comment is never closed"),
            (None, Some(start)) => (*start, "this `(` is never closed"),
            (None, None) => return None,
        };
        Some(error_at_offset(self.text, offset, message))
    }

    fn is_in_plain_statement(&self, lower: &str) -> bool {
        let start = self.statement.and_then(|start| lower.get(start..));
        let words: Vec<&str> = start
            .unwrap_or_default()
            .split_whitespace()
            .take(2)
            .collect();
        let words = words.join(" ");
        PLAIN_STATEMENTS
            .iter()
            .any(|statement| words.starts_with(statement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_broken_only_where_every_dialect_agrees() {
        let is_broken = |text: &str| matches!(parse("a.sql", text), SyntaxVerdict::Broken(_));
        for text in [
            "CREATE TABLE t (\n  a INTEGER,,\n  b INTEGER\n);\n",
            "CREATE TABLE t (a INTEGER;\n",
            "SELECT (1;\nSELECT 2;\n",
            "SELECT 1);\n",
            "INSERT INTO t VALUES ('open);\n",
            "SELECT (((((",
        ] {
            assert!(is_broken(text), "{text}");
        }
        for text in [
            "CREATE TABLE t (\n  a INTEGER PRIMARY KEY\n) STRICT, WITHOUT ROWID;\n",
            "SELECT 'it''s (', \"a)\" FROM t -- (\nWHERE x = '/*';\n",
            "SELECT a, b, FROM t WHERE c IN (1, 2,);\n",
            "SELECT 'it\\'s (';\n",
            "CREATE FUNCTION f() AS $body$ SELECT (;$body$;\n",
            "VACUUM (;\n",
            "SELECT 1; /* open\n",
            "",
        ] {
            assert!(!is_broken(text), "{text}");
        }
    }
}
