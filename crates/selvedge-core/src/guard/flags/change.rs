//! A changed text, line by line: what was added, what was removed, and what merely moved.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::super::ChangedFile;
use super::super::diff::diff;
use super::super::mask::SourceViews;
use super::super::pattern::Pattern;
use super::super::text::{self, SourceLanguage};
use super::aliases;

/// Larger files are not read.
const MAX_BYTES: usize = 16 << 20;

/// The texts of a change that are searched for flags.
#[derive(Debug)]
pub(super) struct ChangeTexts<'a> {
    path: &'a str,
    language: SourceLanguage,
    before: Option<Cow<'a, str>>,
    after: Option<Cow<'a, str>>,
}

/// Reads both texts; `None` for a file that is not source text, is too large, or is test data.
pub(super) fn read_texts<'a>(change: &ChangedFile<'a>) -> Option<ChangeTexts<'a>> {
    if text::is_fixture(change.path, change.before.is_none()) {
        return None;
    }
    let language = text::flagged_language(change.path)?;
    // `.inc` is C's, unless it is PHP's.
    let begins_php = |bytes: &[u8]| bytes.trim_ascii_start().starts_with(b"<?php");
    match change.after {
        Some(bytes) if begins_php(bytes) => read_as(change, SourceLanguage::Php),
        _ => read_as(change, language),
    }
}

/// The same for a text that a source in this language runs.
pub(super) fn read_as<'a>(
    change: &ChangedFile<'a>,
    language: SourceLanguage,
) -> Option<ChangeTexts<'a>> {
    (!is_too_large(change)).then(|| ChangeTexts {
        path: change.path,
        language,
        before: change
            .before
            .map(|bytes| with_plain_breaks(language, bytes)),
        after: change.after.map(|bytes| with_plain_breaks(language, bytes)),
    })
}

/// A text whose lines end where the language's compiler ends them, so that no code looks like a comment.
fn with_plain_breaks(language: SourceLanguage, bytes: &[u8]) -> Cow<'_, str> {
    let text = match String::from_utf8_lossy(bytes) {
        // `$"` is Ruby's list of loaded features, no string.
        text if language == SourceLanguage::Ruby && text.contains("$\".") => {
            let named = |line: &str| match line.split_once("$\".") {
                Some((begin, rest)) if begin.matches('"').count().is_multiple_of(2) => {
                    format!("{begin}$LOADED_FEATURES.{rest}")
                }
                _ => line.to_owned(),
            };
            Cow::Owned(text.split('\n').map(named).collect::<Vec<_>>().join("\n"))
        }
        text => text,
    };
    let is_separator = |it: char| matches!(it, '\u{2028}' | '\u{2029}');
    let has_separators = language == SourceLanguage::JavaScript && text.contains(is_separator);
    let is_lone = |(at, _): (usize, &str)| text.as_bytes().get(at + 1) != Some(&b'\n');
    if !has_separators && !text.match_indices('\r').any(is_lone) {
        return text;
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(if has_separators {
        text.replace(is_separator, "\n")
    } else {
        text
    })
}

pub(super) fn is_too_large(change: &ChangedFile<'_>) -> bool {
    let sides = [change.before, change.after];
    sides.iter().flatten().any(|bytes| bytes.len() > MAX_BYTES)
}

/// One file with the lines that differ, as indices.
#[derive(Debug)]
pub(super) struct ChangedLines<'a> {
    pub(super) path: &'a str,
    pub(super) language: SourceLanguage,
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    pub(super) new: SourceViews,
    added: Vec<usize>,
    removed: Vec<usize>,
    /// The lines of tests in a source, in their order.
    inline_tests: Vec<Range<usize>>,
}

impl<'a> ChangedLines<'a> {
    pub(super) fn of(texts: &'a ChangeTexts<'a>) -> Self {
        let (before, after) = (texts.before.as_deref(), texts.after.as_deref());
        let mut new = SourceViews::of(texts.language, after.unwrap_or_default());
        join_continued(texts.language, &mut new.code);
        join_continued(texts.language, &mut new.text);
        new.text
            .iter_mut()
            .for_each(|line| join_literals(texts.language, line));
        aliases::resolve(texts.language, &mut new);
        let inline_tests = if text::is_test_file(texts.path, texts.before.is_none()) {
            std::iter::once(0..usize::MAX).collect()
        } else {
            inline_tests(texts.language, &new)
        };
        let before: Vec<&str> = before.unwrap_or_default().lines().collect();
        let after: Vec<&str> = after.unwrap_or_default().lines().collect();
        let (added, removed) = diff(&before, &after);
        Self {
            path: texts.path,
            language: texts.language,
            inline_tests,
            before,
            after,
            new,
            added,
            removed,
        }
    }

    /// Whether the file does not exist any more, or is empty.
    pub(super) fn is_removed(&self) -> bool {
        self.after.is_empty() && !self.before.is_empty()
    }

    /// Whether the file did not exist, or was empty.
    pub(super) fn is_new(&self) -> bool {
        self.before.is_empty()
    }

    /// The lines of the previous version.
    pub(super) fn lines_before(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.before.iter().copied()
    }

    /// Whether a line of the current file belongs to tests.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        let next = self.inline_tests.partition_point(|tests| tests.end <= line);
        let tests = self.inline_tests.get(next);
        tests.is_some_and(|tests| tests.contains(&line))
    }

    /// Whether a line of the previous version matches.
    pub(super) fn had(&self, pattern: &Pattern) -> bool {
        self.before.iter().any(|line| pattern.is_match(line))
    }

    /// A line of the file as it was, by its index.
    pub(super) fn line_before(&self, line: usize) -> Option<&'a str> {
        self.before.get(line).copied()
    }

    /// A line of the current version, by its index.
    pub(super) fn line_now(&self, line: usize) -> Option<&'a str> {
        self.after.get(line).copied()
    }

    /// A removed line, trimmed.
    pub(super) fn removed_lines(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        self.removed
            .iter()
            .filter_map(|&line| Some((line, self.before.get(line)?.trim())))
    }

    /// An added line, trimmed.
    pub(super) fn added_lines(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        self.added
            .iter()
            .filter_map(|&line| Some((line, self.after.get(line)?.trim())))
    }
}

/// Appends to a line what continues it on the next one: `.modules` below `sys`, or what follows a backslash in Python.
fn join_continued(language: SourceLanguage, lines: &mut [String]) {
    static MEMBER: Pattern = Pattern::new(r"^\s*\??\.[A-Za-z_]");
    static OBJECT: Pattern = Pattern::new(r"^\s*(?:.*[\s(=!,])?[A-Za-z_$][\w$]*\s*$");
    let is_chained = matches!(
        language,
        SourceLanguage::JavaScript | SourceLanguage::Python | SourceLanguage::Ruby
    );
    for line in 1..lines.len() {
        let (above, below) = (&lines[line - 1], &lines[line]);
        let continued = match above.trim_end().strip_suffix('\\') {
            Some(begin) if language == SourceLanguage::Python => Some(begin.trim_end()),
            None if is_chained && MEMBER.is_match(below) && OBJECT.is_match(above) => {
                Some(above.trim_end())
            }
            _ => None,
        };
        if let Some(begin) = continued {
            lines[line - 1] = format!("{begin}{}", below.trim());
        }
    }
}

/// Joins strings that are concatenated: `"py" + "test"`, and in C `"MAKE" "LEVEL"`.
fn join_literals(language: SourceLanguage, line: &mut String) {
    static ADJACENT: Pattern = Pattern::new(r"\x22[ \t]+\x22|'[ \t]+'");
    static CONCATENATION: Pattern = Pattern::new(
        r"'[ \t]*\+[ \t]*'|\x22[ \t]*\+[ \t]*\x22|'[ \t]*\+[ \t]*\x22|\x22[ \t]*\+[ \t]*'",
    );
    let is_joined = |pattern: &Pattern| pattern.is_match(line);
    let pattern = match language {
        SourceLanguage::C | SourceLanguage::Python | SourceLanguage::Ruby
            if is_joined(&ADJACENT) =>
        {
            Some(&ADJACENT)
        }
        SourceLanguage::C => None,
        _ => Some(&CONCATENATION).filter(|_| line.contains('+')),
    };
    if let Some(regex) = pattern.and_then(Pattern::regex) {
        *line = regex.replace_all(line, "").into_owned();
    }
}

/// Finds the modules of tests in a Rust source: from `#[cfg(test)]` to the closing brace.
fn inline_tests(language: SourceLanguage, views: &SourceViews) -> Vec<Range<usize>> {
    let code = &views.code;
    if language != SourceLanguage::Rust {
        return Vec::new();
    }
    let mut modules: Vec<Range<usize>> = Vec::new();
    for (mark, line) in code.iter().enumerate() {
        let is_within = modules.last().is_some_and(|last| mark < last.end);
        if is_within || !line.trim_start().starts_with("#[cfg(test)]") {
            continue;
        }
        let mut headers = mark..code.len().min(mark + 3);
        if let Some(header) = headers.find(|line| code[*line].contains("mod ")) {
            modules.push(mark..end_of_block(code, header).unwrap_or(code.len()));
        }
    }
    modules
}

/// The line after the block that begins on a line; the next one if there is no block, as in `mod tests;`. `None` if the
/// block does not end.
pub(super) fn end_of_block(code: &[String], header: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (line, text) in code.iter().enumerate().skip(header) {
        for letter in text.chars() {
            match letter {
                ';' if depth == 0 => return Some(line + 1),
                '{' => depth += 1,
                '}' if depth <= 1 => return Some(line + 1),
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

/// How often each line was removed, over all files. As many added lines with the same text count as
/// moved.
#[derive(Debug)]
pub(super) struct MovedLines<'a>(HashMap<&'a str, usize>);

impl<'a> MovedLines<'a> {
    pub(super) fn of(changed: &[ChangedLines<'a>]) -> Self {
        let mut count = HashMap::new();
        for (_, line) in changed.iter().flat_map(ChangedLines::removed_lines) {
            *count.entry(line).or_default() += 1;
        }
        Self(count)
    }

    /// The added lines of a file that were not moved from elsewhere.
    pub(super) fn new_lines(&mut self, file: &ChangedLines<'a>) -> Vec<usize> {
        let is_new = |(index, line): (usize, &str)| match self.0.get_mut(line) {
            Some(left) if *left > 0 => {
                *left -= 1;
                None
            }
            _ => Some(index),
        };
        file.added_lines().filter_map(is_new).collect()
    }
}
