//! The pages with the changes of files: one diff, or a diff under review with findings and comments at its lines.

use std::ops::Range;
use std::time::Instant;

use askama::Template;

use super::frame::PageFrame;
use crate::backend::DiffContent;
use crate::diff::{self, DiffLineKind, FileDiff, LineState, Token, TokenKind, words_deadline};
use crate::text::{Markup, make_visible};

/// The page.
#[derive(Template)]
#[template(path = "diff.html")]
pub(crate) struct DiffPage {
    frame: PageFrame,
    heading: String,
    back: (String, String),
    other: Vec<(String, String)>,
    raw: String,
    files: Vec<FileDiffView>,
    truncated: bool,
}

/// The changes of a file.
pub(crate) struct FileDiffView {
    pub(crate) path: String,
    /// The unescaped path, as part of a form field's name.
    pub(crate) name: String,
    pub(crate) note: &'static str,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) rows: Vec<DiffLineView>,
    pub(crate) left_out: usize,
    pub(crate) open: bool,
    /// Findings without a line that is shown: class and text.
    pub(crate) findings: Vec<(&'static str, String)>,
}

/// A row of a diff.
pub(crate) struct DiffLineView {
    pub(crate) class: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) text: Markup,
    /// Findings at this line: class and text.
    pub(crate) findings: Vec<(&'static str, String)>,
}

/// A finding at a file, and at a line of its new version if it has one.
pub(crate) struct LineFinding {
    pub(crate) path: String,
    pub(crate) line: Option<u32>,
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

/// Maximum number of rows shown, per file and in total.
const MAX_FILE_ROWS: usize = 2000;
const MAX_TOTAL_ROWS: usize = 6000;
/// Maximum number of files that are expanded initially.
const MAX_OPEN_FILES: usize = 12;
/// Longest line that is shown, in characters.
const MAX_LINE_CHARS: usize = 2000;

impl DiffPage {
    pub(crate) fn new(
        frame: PageFrame,
        heading: String,
        back: (String, String),
        other: Vec<(String, String)>,
        raw: String,
        diff: &DiffContent,
    ) -> Self {
        let files = file_views(diff, MAX_TOTAL_ROWS, &[], words_deadline());
        Self {
            frame,
            heading,
            back,
            other,
            raw,
            files,
            truncated: diff.truncated,
        }
    }
}

/// The files of a diff, with at most `rows` rows in total, and with findings at their lines. Changed words are marked
/// until the deadline, which is one for the whole page.
pub(crate) fn file_views(
    diff: &DiffContent,
    rows: usize,
    findings: &[LineFinding],
    deadline: Instant,
) -> Vec<FileDiffView> {
    let mut left = rows;
    let files = diff::parse_diff(&diff.bytes).into_iter().enumerate();
    let files = files.map(|(index, file)| {
        let shown = file.rows.len().min(MAX_FILE_ROWS).min(left);
        left -= shown;
        let open = index < MAX_OPEN_FILES;
        FileDiffView::new(&file, shown, open, findings, deadline)
    });
    files.collect()
}

impl FileDiffView {
    fn new(
        file: &FileDiff,
        shown: usize,
        open: bool,
        findings: &[LineFinding],
        deadline: Instant,
    ) -> Self {
        let number = |line: Option<u32>| line.map_or_else(String::new, |line| line.to_string());
        let texts: Vec<String> = file
            .rows
            .iter()
            .take(shown)
            .map(|row| {
                let text = String::from_utf8_lossy(&row.text);
                let cut: String = text.chars().take(MAX_LINE_CHARS).collect();
                cut.trim_end_matches('\r').to_owned()
            })
            .collect();
        let mut markup = line_markup(file, &texts, deadline);
        let mut own: Vec<&LineFinding> =
            findings.iter().filter(|it| it.path == file.path).collect();
        let pair = |it: &LineFinding| (it.class, make_visible(&it.text));
        let rows = file.rows.iter().take(shown).zip(markup.drain(..));
        let rows = rows.map(|(row, text)| {
            let is_here = |it: &&LineFinding| row.after.is_some() && it.line == row.after;
            let (here, rest) = std::mem::take(&mut own)
                .into_iter()
                .partition(|it| is_here(it));
            own = rest;
            let here: Vec<&LineFinding> = here;
            DiffLineView {
                class: row.kind.class(),
                sign: row.kind.sign(),
                before: number(row.before),
                after: number(row.after),
                text,
                findings: here.into_iter().map(pair).collect(),
            }
        });
        let rows: Vec<DiffLineView> = rows.collect();
        Self {
            path: make_visible(&file.path),
            name: file.path.clone(),
            note: file.note,
            added: file.added,
            removed: file.removed,
            rows,
            left_out: file.rows.len() - shown,
            open,
            findings: own.into_iter().map(pair).collect(),
        }
    }
}

/// The lines as markup: coloured by the language of the file, and with marks at the words that differ from the line that
/// they replace.
fn line_markup(file: &FileDiff, texts: &[String], deadline: Instant) -> Vec<Markup> {
    let grammar = diff::grammar_of(&file.path);
    let marks = diff::changed_words(file, texts, deadline);
    let (mut old, mut new) = (LineState::default(), LineState::default());
    let lines = file.rows.iter().zip(texts).zip(&marks);
    let lines = lines.map(|((row, text), marks)| {
        let tokens = match (grammar, row.kind) {
            (None, _) | (_, DiffLineKind::Note) => Vec::new(),
            (Some(_), DiffLineKind::Hunk) => {
                (old, new) = (LineState::default(), LineState::default());
                Vec::new()
            }
            (Some(grammar), DiffLineKind::Removed) => grammar.tokens(text, &mut old),
            (Some(grammar), DiffLineKind::Added) => grammar.tokens(text, &mut new),
            (Some(grammar), DiffLineKind::Context) => {
                let tokens = grammar.tokens(text, &mut new);
                old = new;
                tokens
            }
        };
        styled(text, &tokens, marks)
    });
    lines.collect()
}

/// A line with its tokens and marks.
fn styled(text: &str, tokens: &[Token], marks: &[Range<usize>]) -> Markup {
    let mut markup = Markup::new();
    let ends = tokens.iter().map(|(_, range)| range);
    let ends = ends.chain(marks).flat_map(|range| [range.start, range.end]);
    let mut cuts: Vec<usize> = ends.chain([0, text.len()]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    // Tokens and marks are in the order of the line.
    let (mut tokens, mut marks) = (tokens.iter().peekable(), marks.iter().peekable());
    for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
        while tokens.next_if(|(_, range)| range.end <= *from).is_some() {}
        while marks.next_if(|range| range.end <= *from).is_some() {}
        let token = tokens.peek().filter(|(_, range)| range.start <= *from);
        let marked = marks.peek().is_some_and(|range| range.start <= *from);
        let piece = text.get(*from..*to).unwrap_or_default();
        let tag = match (token.map(|(kind, _)| kind), marked) {
            (None, false) => None,
            (None, true) => Some("<i class=\"w\">"),
            (Some(TokenKind::Keyword), false) => Some("<i class=\"y\">"),
            (Some(TokenKind::Keyword), true) => Some("<i class=\"y w\">"),
            (Some(TokenKind::String), false) => Some("<i class=\"q\">"),
            (Some(TokenKind::String), true) => Some("<i class=\"q w\">"),
            (Some(TokenKind::Comment), false) => Some("<i class=\"c\">"),
            (Some(TokenKind::Comment), true) => Some("<i class=\"c w\">"),
            (Some(TokenKind::Number), false) => Some("<i class=\"u\">"),
            (Some(TokenKind::Number), true) => Some("<i class=\"u w\">"),
        };
        if let Some(tag) = tag {
            markup.push_tag(tag);
        }
        markup.push_text(piece);
        if tag.is_some() {
            markup.push_tag("</i>");
        }
    }
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styled_line_has_tokens_and_marks_and_no_markup_of_its_own() {
        let tokens = [(TokenKind::Keyword, 0..3), (TokenKind::String, 8..11)];
        let line = styled("let a = \"<\";", &tokens, &[4..5, 9..10]);
        assert_eq!(
            line.as_str(),
            "<i class=\"y\">let</i> <i class=\"w\">a</i> = <i class=\"q\">&#34;</i>\
             <i class=\"q w\">&lt;</i><i class=\"q\">&#34;</i>;"
        );
    }
}
