//! C and C++: brackets that match, literals, comments and `#if`s that end.
//!
//! No more can be said of one file alone: what its words mean is decided by macros in others. Where
//! the branches of an `#if` open and close differently, or macros hold brackets that do not match,
//! even that is not certain.

use crate::position::fault;
use crate::{Fault, Verdict};

pub(crate) fn parse(_: &str, text: &str) -> Verdict {
    let mut reader = Reader::new(text);
    match reader.read() {
        Ok(()) => Verdict::Parses,
        // Files that others include in pieces include nothing themselves.
        Err(fault) if !reader.includes => {
            Verdict::Unsure(fault, "it may be a piece of another file")
        }
        Err(fault) if reader.doubtful => {
            Verdict::Unsure(fault, "its preprocessor decides which brackets count")
        }
        Err(fault) => Verdict::Broken(fault),
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Brackets that are open: what closes them, and where they stand.
    open: Vec<(u8, usize)>,
    /// The `#if`s that are open: where, and how many brackets were open before.
    conditions: Vec<(usize, usize)>,
    /// Whether it includes others.
    includes: bool,
    /// Whether the preprocessor may be to blame.
    doubtful: bool,
}

impl<'a> Reader<'a> {
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

    fn read(&mut self) -> Result<(), Fault> {
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
                b'/' if self.starts(b"//") => self.skip_line(),
                b'/' if self.starts(b"/*") => {
                    self.comment()?;
                    continue;
                }
                b'#' if line_begins => self.directive()?,
                b'"' => self.string()?,
                b'\'' => self.character(),
                b'(' => self.opens(b')'),
                b'[' => self.opens(b']'),
                b'{' => self.opens(b'}'),
                b')' | b']' | b'}' => self.closes(byte)?,
                _ if byte.is_ascii_alphanumeric() || byte == b'_' => self.word(),
                _ => self.at += 1,
            }
            line_begins = false;
        }
        if let Some((start, _)) = self.conditions.first() {
            return Err(fault(self.text, *start, "this `#if` has no `#endif`"));
        }
        match self.open.pop() {
            None => Ok(()),
            Some((_, start)) => {
                let bracket = char::from(self.bytes.get(start).copied().unwrap_or(b'{'));
                Err(fault(
                    self.text,
                    start,
                    format!("`{bracket}` is never closed"),
                ))
            }
        }
    }

    fn starts(&self, words: &[u8]) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(words))
    }

    fn opens(&mut self, close: u8) {
        self.open.push((close, self.at));
        self.at += 1;
    }

    fn closes(&mut self, close: u8) -> Result<(), Fault> {
        match self.open.pop() {
            Some((expected, _)) if expected == close => {
                self.at += 1;
                Ok(())
            }
            Some((expected, start)) => {
                let (line, expected) = (fault(self.text, start, "").line, char::from(expected));
                let message = format!(
                    "`{}` where `{expected}` of line {line} is due",
                    char::from(close)
                );
                Err(fault(self.text, self.at, message))
            }
            None => {
                let message = format!("`{}` closes nothing", char::from(close));
                Err(fault(self.text, self.at, message))
            }
        }
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        match rest.find("*/") {
            Some(end) => {
                self.at += end + 4;
                Ok(())
            }
            None => Err(fault(self.text, self.at, "this comment never ends")),
        }
    }

    /// To the end of the line, and of those that continue it.
    fn skip_line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' if self.starts(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// A string ends on its line, but for raw ones.
    fn string(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if self.starts(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        Err(fault(self.text, start, "this string never ends"))
    }

    /// A character; an apostrophe that begins none is let be: inside `#if 0` there may be prose.
    fn character(&mut self) {
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

    /// A name or a number, with its apostrophes; or the prefix of a raw string.
    fn word(&mut self) {
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
            && self.starts(b"\"")
        {
            self.raw_string();
        }
    }

    fn raw_string(&mut self) {
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

    /// A line of the preprocessor: conditions are followed, everything else in it is let be.
    fn directive(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.directive_line();
        let line = self.text.get(start + 1..self.at).unwrap_or_default();
        let word: String = line
            .trim_start()
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        match word.as_str() {
            "if" | "ifdef" | "ifndef" => self.conditions.push((start, self.open.len())),
            "else" | "elif" | "elifdef" | "elifndef" => match self.conditions.last() {
                // Each branch begins as the first did; what it leaves open may differ.
                Some((_, before)) => {
                    self.doubtful |= self.open.len() != *before;
                    self.open.truncate(*before);
                }
                None => {
                    return Err(fault(
                        self.text,
                        start,
                        format!("`#{word}` without an `#if`"),
                    ));
                }
            },
            "endif" => match self.conditions.pop() {
                Some((_, before)) => self.doubtful |= self.open.len() != before,
                None => return Err(fault(self.text, start, "`#endif` without an `#if`")),
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

    /// As [`Reader::skip_line`], but a comment may go on beyond the line.
    fn directive_line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'/' if self.starts(b"/*") => {
                    if self.comment().is_err() {
                        self.at = self.bytes.len();
                    }
                }
                b'/' if self.starts(b"//") => return self.skip_line(),
                b'\\' if self.starts(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}
