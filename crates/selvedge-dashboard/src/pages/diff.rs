//! The pages with the changes of files: one diff, or a diff under review with findings and comments at its lines.

use askama::Template;

use super::frame::PageFrame;
use crate::backend::DiffContent;
use crate::diff::{self, DiffLineKind, FileDiff};
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
    /// The path as it is, as part of a form field's name.
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
        let files = file_views(diff, MAX_TOTAL_ROWS, &[]);
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

/// The files of a diff, with at most `rows` rows in total, and with findings at their lines.
pub(crate) fn file_views(
    diff: &DiffContent,
    rows: usize,
    findings: &[LineFinding],
) -> Vec<FileDiffView> {
    let mut left = rows;
    let files = diff::parse_diff(&diff.bytes).into_iter().enumerate();
    let files = files.map(|(index, file)| {
        let shown = file.rows.len().min(MAX_FILE_ROWS).min(left);
        left -= shown;
        FileDiffView::new(&file, shown, index < MAX_OPEN_FILES, findings)
    });
    files.collect()
}

impl FileDiffView {
    fn new(file: &FileDiff, shown: usize, open: bool, findings: &[LineFinding]) -> Self {
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
        let mut markup = line_markup(file, &texts);
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

/// The lines as markup. In blocks of as many removed as added lines, what differs within a line is marked.
fn line_markup(file: &FileDiff, texts: &[String]) -> Vec<Markup> {
    let plain = |text: &String| {
        let mut markup = Markup::new();
        markup.push_text(text);
        markup
    };
    let mut lines: Vec<Markup> = texts.iter().map(plain).collect();
    let kind = |at: usize| file.rows.get(at).map(|row| row.kind);
    let count = |from: usize, wanted: DiffLineKind| {
        let run = (from..texts.len()).take_while(|at| kind(*at) == Some(wanted));
        run.count()
    };
    let mut at = 0;
    while at < texts.len() {
        let removed = count(at, DiffLineKind::Removed);
        let added = count(at + removed, DiffLineKind::Added);
        if removed == added {
            for index in at..at + removed {
                let (Some(before), Some(after)) = (texts.get(index), texts.get(index + removed))
                else {
                    continue;
                };
                let Some(parts) = diff::changed_middle(before, after) else {
                    continue;
                };
                for (place, part) in [index, index + removed].into_iter().zip(parts) {
                    if let Some(line) = lines.get_mut(place) {
                        *line = marked(part);
                    }
                }
            }
        }
        at += (removed + added).max(1);
    }
    lines
}

fn marked((start, middle, end): (&str, &str, &str)) -> Markup {
    let mut markup = Markup::new();
    markup.push_text(start);
    if !middle.is_empty() {
        markup.push_tag("<span class=\"w\">");
        markup.push_text(middle);
        markup.push_tag("</span>");
    }
    markup.push_text(end);
    markup
}
