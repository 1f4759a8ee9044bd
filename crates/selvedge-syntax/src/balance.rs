//! C and C++: checks that brackets match and that literals, comments and `#if`s are closed.
//!
//! Nothing more can be decided from one file alone, because macros in other files decide the meaning of its
//! words. Even bracket matching is uncertain where the branches of an `#if` open and close differently, or
//! where macros contain unmatched brackets.

use crate::position::error_at_offset;
use crate::{SyntaxError, SyntaxVerdict};

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let mut reader = BracketScanner::new(text);
    match reader.read() {
        Ok(()) => SyntaxVerdict::Parses,
        // Files that are meant to be included as fragments contain no includes themselves.
        Err(fault) if !reader.includes => {
            SyntaxVerdict::Unsure(fault, "it may be a fragment of another file")
        }
        Err(fault) if reader.doubtful => {
            SyntaxVerdict::Unsure(fault, "the preprocessor decides which brackets apply")
        }
        Err(fault) => SyntaxVerdict::Broken(fault),
    }
}

struct BracketScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Open brackets: the byte that closes each, and its position.
    open: Vec<(u8, usize)>,
    /// Open `#if`s: the position of each, and how many brackets were open before it.
    conditions: Vec<(usize, usize)>,
    /// Whether the file includes other files.
    includes: bool,
    /// Whether an error may be caused by the preprocessor.
    doubtful: bool,
}

impl<'a> BracketScanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            open: Vec::new(),
            conditions: Vec::new(),
            includes: false,
            doubtful: false,
        }
    }

    fn read(&mut self) -> Result<(), SyntaxError> {
        let mut line_begins = true;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    line_begins = true;
                    self.at += 1;
                    continue;
                }
                b' ' | b'\t' | b'\r' | b'\x0c' => {
                    self.at += 1;
                    continue;
                }
                b'/' if self.starts_with(b"//") => self.skip_line(),
                b'/' if self.starts_with(b"/*") => {
                    self.skip_comment()?;
                    continue;
                }
                b'#' if line_begins => self.read_directive()?,
                b'"' => self.skip_string()?,
                b'\'' => self.skip_character(),
                b'(' => self.open_bracket(b')'),
                b'[' => self.open_bracket(b']'),
                b'{' => self.open_bracket(b'}'),
                b')' | b']' | b'}' => self.close_bracket(byte)?,
                _ if byte.is_ascii_alphanumeric() || byte == b'_' => self.skip_word(),
                _ => self.at += 1,
            }
            line_begins = false;
        }
        if let Some((start, _)) = self.conditions.first() {
            return Err(error_at_offset(
                self.text,
                *start,
                "this `#if` has no `#endif`",
            ));
        }
        match self.open.pop() {
            None => Ok(()),
            Some((_, start)) => {
                let bracket = char::from(self.bytes.get(start).copied().unwrap_or(b'{'));
                Err(error_at_offset(
                    self.text,
                    start,
                    format!("`{bracket}` is never closed"),
                ))
            }
        }
    }

    fn starts_with(&self, words: &[u8]) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(words))
    }

    fn open_bracket(&mut self, close: u8) {
        self.open.push((close, self.at));
        self.at += 1;
    }

    fn close_bracket(&mut self, close: u8) -> Result<(), SyntaxError> {
        match self.open.pop() {
            Some((expected, _)) if expected == close => {
                self.at += 1;
                Ok(())
            }
            Some((expected, start)) => {
                let (line, expected) = (
                    error_at_offset(self.text, start, "").line,
                    char::from(expected),
                );
                let message = format!(
                    "expected `{expected}` to match line {line}, found `{}`",
                    char::from(close)
                );
                Err(error_at_offset(self.text, self.at, message))
            }
            None => {
                let message = format!("unmatched `{}`", char::from(close));
                Err(error_at_offset(self.text, self.at, message))
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), SyntaxError> {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        match rest.find("*/") {
            Some(end) => {
                self.at += end + 4;
                Ok(())
            }
            None => Err(error_at_offset(self.text, self.at, "unterminated comment")),
        }
    }

    /// Skips to the end of the line, including continuation lines.
    fn skip_line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' if self.starts_with(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Skips a string. Only raw strings may span lines.
    fn skip_string(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if self.starts_with(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        Err(error_at_offset(self.text, start, "unterminated string"))
    }

    /// Skips a character literal. An apostrophe that does not begin one is ignored: `#if 0` may contain
    /// prose.
    fn skip_character(&mut self) {
        let end = self.bytes.get(self.at + 1..).unwrap_or_default();
        let mut length = 0;
        while let Some(&byte) = end.get(length) {
            match byte {
                b'\'' if length > 0 => {
                    self.at += length + 2;
                    return;
                }
                b'\\' => length += 2,
                b'\n' => break,
                _ => length += 1,
            }
        }
        self.doubtful = true;
        self.at += 1;
    }

    /// Skips a name or a number with its apostrophes, or the prefix of a raw string.
    fn skip_word(&mut self) {
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            let is_number = self.bytes.get(start).is_some_and(u8::is_ascii_digit);
            let goes_on =
                byte.is_ascii_alphanumeric() || byte == b'_' || is_number && byte == b'\'';
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        if word.ends_with('R')
            && matches!(word, "R" | "LR" | "uR" | "UR" | "u8R")
            && self.starts_with(b"\"")
        {
            self.skip_raw_string();
        }
    }

    fn skip_raw_string(&mut self) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let Some((delimiter, body)) = rest.split_once('(') else {
            return;
        };
        let end = format!("){delimiter}\"");
        if let Some(length) = body.find(&end) {
            self.at += 1 + delimiter.len() + 1 + length + end.len();
        } else {
            self.doubtful = true;
            self.at = self.bytes.len();
        }
    }

    /// Reads a preprocessor line: conditions are tracked, everything else is ignored.
    fn read_directive(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.skip_directive_line();
        let line = self.text.get(start + 1..self.at).unwrap_or_default();
        let word: String = line
            .trim_start()
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        match word.as_str() {
            "if" | "ifdef" | "ifndef" => self.conditions.push((start, self.open.len())),
            "else" | "elif" | "elifdef" | "elifndef" => match self.conditions.last() {
                // Each branch begins with the brackets of the first; what it leaves open may differ.
                Some((_, before)) => {
                    self.doubtful |= self.open.len() != *before;
                    self.open.truncate(*before);
                }
                None => {
                    return Err(error_at_offset(
                        self.text,
                        start,
                        format!("`#{word}` without an `#if`"),
                    ));
                }
            },
            "endif" => match self.conditions.pop() {
                Some((_, before)) => self.doubtful |= self.open.len() != before,
                None => {
                    return Err(error_at_offset(
                        self.text,
                        start,
                        "`#endif` without an `#if`",
                    ));
                }
            },
            "include" | "import" => self.includes = true,
            "define" => {
                let count = |brackets: [char; 2]| brackets.map(|it| line.matches(it).count());
                let pairs = [['(', ')'], ['[', ']'], ['{', '}']].map(count);
                self.doubtful |= pairs.iter().any(|[opened, closed]| opened != closed);
            }
            _ => {}
        }
        Ok(())
    }

    /// Like [`BracketScanner::skip_line`], but a comment may continue beyond the line.
    fn skip_directive_line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'/' if self.starts_with(b"/*") => {
                    if self.skip_comment().is_err() {
                        self.at = self.bytes.len();
                    }
                }
                b'/' if self.starts_with(b"//") => return self.skip_line(),
                b'\\' if self.starts_with(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}
