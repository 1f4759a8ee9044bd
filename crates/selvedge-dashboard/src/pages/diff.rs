//! The page with the changes of files.

use askama::Template;

use super::frame::PageFrame;
use crate::backend::DiffContent;
use crate::diff::{self, FileDiff};
use crate::text::make_visible;

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

struct FileDiffView {
    path: String,
    note: &'static str,
    added: usize,
    removed: usize,
    rows: Vec<DiffLineView>,
    left_out: usize,
    open: bool,
}

struct DiffLineView {
    class: &'static str,
    sign: &'static str,
    before: String,
    after: String,
    text: String,
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
        let mut left = MAX_TOTAL_ROWS;
        let files = diff::parse_diff(&diff.bytes).into_iter().enumerate();
        let files = files.map(|(index, file)| {
            let shown = file.rows.len().min(MAX_FILE_ROWS).min(left);
            left -= shown;
            FileDiffView::new(&file, shown, index < MAX_OPEN_FILES)
        });
        Self {
            frame,
            heading,
            back,
            other,
            raw,
            files: files.collect(),
            truncated: diff.truncated,
        }
    }
}

impl FileDiffView {
    fn new(file: &FileDiff, shown: usize, open: bool) -> Self {
        let number = |line: Option<u32>| line.map_or_else(String::new, |line| line.to_string());
        let rows = file.rows.iter().take(shown).map(|row| {
            let text = String::from_utf8_lossy(&row.text);
            let cut: String = text.chars().take(MAX_LINE_CHARS).collect();
            DiffLineView {
                class: row.kind.class(),
                sign: row.kind.sign(),
                before: number(row.before),
                after: number(row.after),
                text: make_visible(cut.trim_end_matches('\r')),
            }
        });
        Self {
            path: make_visible(&file.path),
            note: file.note,
            added: file.added,
            removed: file.removed,
            rows: rows.collect(),
            left_out: file.rows.len() - shown,
            open,
        }
    }
}
