//! The details of a failure beyond its headline: the lines of its message and excerpt, most informative
//! first.
//!
//! A line that only repeats the headline is omitted; frames of a framework come last.

use crate::formats::is_foreign_frame;
use crate::record::Failure;

/// How informative a line is; lower ranks are shown first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineRank {
    Message,
    /// The line of the source that the tool points at.
    Marked,
    Other,
    /// A frame in a runtime, a library or a test framework.
    ForeignFrame,
}

/// The lines that add to the headline, each with its position, most informative first.
pub(super) fn detail_lines(failure: &Failure) -> Vec<(usize, &str)> {
    let message = failure.message.as_deref().unwrap_or_default().lines();
    let excerpt = failure.excerpt.as_deref().unwrap_or_default().lines();
    let mut last = LineRank::Other;
    let mut lines: Vec<(LineRank, usize, &str)> = Vec::new();
    let message = message.map(|line| (Some(LineRank::Message), line));
    let mut all = message
        .chain(excerpt.map(|line| (None, line)))
        .enumerate()
        .peekable();
    while let Some((at, (known, line))) = all.next() {
        // A pointer belongs to the line above it.
        let rank = match known {
            Some(rank) => rank,
            None if is_pointer(line) => last,
            None if all.peek().is_some_and(|(_, (_, next))| is_pointer(next)) => LineRank::Marked,
            None => rank_line(line),
        };
        last = rank;
        let is_value = || EMPTY_VALUES.contains(&line.trim()) && is_labelled(failure, at);
        if adds_information(line, failure) || is_value() {
            lines.push((rank, at, line));
        }
    }
    lines.sort_by_key(|(rank, at, _)| (*rank, *at));
    lines.into_iter().map(|(_, at, line)| (at, line)).collect()
}

/// Whether a line of the message is the first line of a value, below its label: the actual value may look like the
/// expected one.
pub(super) fn is_labelled(failure: &Failure, at: usize) -> bool {
    let message = failure.message.as_deref().unwrap_or_default();
    let label = at
        .checked_sub(1)
        .and_then(|above| message.lines().nth(above));
    label.is_some_and(|label| label.trim_end().ends_with(':')) && at < message.lines().count()
}

fn rank_line(line: &str) -> LineRank {
    let body = line.trim_start();
    if is_foreign_frame(line) {
        LineRank::ForeignFrame
    } else if body.starts_with("> ") || line.starts_with(">  ") || line.starts_with("E  ") {
        LineRank::Marked
    } else {
        LineRank::Other
    }
}

/// Whether the line is a row of carets below a line of source, with or without a gutter.
fn is_pointer(line: &str) -> bool {
    line.contains(['^', '┬', '╵', '╰']) && !line.contains(char::is_alphanumeric)
}

/// Whether a line is more than a frame or an arrow at the place that the headline names.
fn adds_information(line: &str, failure: &Failure) -> bool {
    if let (Some(file), Some(number)) = (&failure.file, failure.line)
        && let Some((before, after)) = line.split_once(&format!("{file}:{number}"))
    {
        return before.chars().chain(after.chars()).any(char::is_alphabetic);
    }
    line.contains(|c: char| c.is_alphanumeric() || matches!(c, '^' | '~' | '┬'))
}

/// Values without content.
const EMPTY_VALUES: [&str; 5] = ["{}", "[]", "()", "''", "\"\""];

/// Words that add nothing to a headline.
const EMPTY_WORDS: [&str; 8] = [
    "at", "in", "error", "failed", "failure", "fail", "line", "unknown",
];

/// Whether a line is shown because of its form: a diff, or source behind a gutter.
pub(super) fn is_diff_or_source(line: &str) -> bool {
    line.contains(['|', '│']) || line.trim_start().starts_with(['+', '-', '>', '<'])
}

/// A line without the mark by which pytest repeats the message below the source.
pub(super) fn without_mark(line: &str) -> &str {
    line.strip_prefix("E   ").unwrap_or(line).trim()
}

/// Whether a line equals `text`, with at most a mark before it.
pub(super) fn is_repetition(line: &str, text: &str) -> bool {
    const LONG: usize = 40;
    const MARK: usize = 16;
    let text = text.trim();
    text.len() > LONG && line.trim().len() < text.len() + MARK && line.contains(text)
}

/// Whether a line of prose or a frame has no word that the headline lacks. Diffs and source are always shown,
/// and a number that is in the headline by chance may be a value here.
pub(super) fn is_reported(line: &str, headline: &str, failure: &Failure) -> bool {
    let body = line.trim_start();
    let file = failure.file.as_deref().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or(file);
    let placed = !name.is_empty() && line.contains(name);
    let mut words = words(body).peekable();
    !is_diff_or_source(line)
        && !is_value_without_words(body)
        && words.peek().is_some()
        && words.all(|word| {
            let empty = EMPTY_WORDS
                .iter()
                .any(|empty| word.eq_ignore_ascii_case(empty));
            let value = !placed && word.contains(|c: char| c.is_ascii_digit());
            empty || !value && self::words(headline).any(|reported| reported == word)
        })
}

/// Whether a line is a label with a value of signs only, which no word of a headline repeats: `left: ""`.
fn is_value_without_words(body: &str) -> bool {
    body.split_once(": ").is_some_and(|(label, value)| {
        !label.contains(' ') && !value.is_empty() && !value.contains(char::is_alphanumeric)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}
