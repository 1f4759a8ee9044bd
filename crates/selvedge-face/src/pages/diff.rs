//! What changed in the files.

use askama::Template;

use super::frame::Frame;
use crate::changes::{self, File};
use crate::reading::Diff;
use crate::text::visible;

/// The page.
#[derive(Template)]
#[template(path = "diff.html")]
pub(crate) struct DiffPage {
    frame: Frame,
    heading: String,
    back: (String, String),
    other: Vec<(String, String)>,
    raw: String,
    files: Vec<FileView>,
    truncated: bool,
}

struct FileView {
    path: String,
    note: &'static str,
    added: usize,
    removed: usize,
    rows: Vec<RowView>,
    left_out: usize,
    open: bool,
}

struct RowView {
    class: &'static str,
    sign: &'static str,
    before: String,
    after: String,
    text: String,
}

/// Rows of one file that are shown, and of all of them.
const ROWS: usize = 2000;
const ALL_ROWS: usize = 6000;
/// Files that are unfolded from the start.
const OPEN: usize = 12;
/// Longest line that is shown, in characters.
const LONGEST: usize = 2000;

impl DiffPage {
    pub(crate) fn new(
        frame: Frame,
        heading: String,
        back: (String, String),
        other: Vec<(String, String)>,
        raw: String,
        diff: &Diff,
    ) -> Self {
        let mut left = ALL_ROWS;
        let files = changes::files(&diff.bytes).into_iter().enumerate();
        let files = files.map(|(index, file)| {
            let shown = file.rows.len().min(ROWS).min(left);
            left -= shown;
            FileView::new(&file, shown, index < OPEN)
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

impl FileView {
    fn new(file: &File, shown: usize, open: bool) -> Self {
        let number = |line: Option<u32>| line.map_or_else(String::new, |line| line.to_string());
        let rows = file.rows.iter().take(shown).map(|row| {
            let text = String::from_utf8_lossy(&row.text);
            let cut: String = text.chars().take(LONGEST).collect();
            RowView {
                class: row.kind.class(),
                sign: row.kind.sign(),
                before: number(row.before),
                after: number(row.after),
                text: visible(cut.trim_end_matches('\r')),
            }
        });
        Self {
            path: visible(&file.path),
            note: file.note,
            added: file.added,
            removed: file.removed,
            rows: rows.collect(),
            left_out: file.rows.len() - shown,
            open,
        }
    }
}
