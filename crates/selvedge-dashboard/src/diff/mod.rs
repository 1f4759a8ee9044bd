//! Parses a unified diff into rows: file, line numbers, and kind of change. Parsing is lenient, because a
//! diff is untrusted text: lines that are not recognised are kept as they are.

mod highlight;
mod words;

pub use highlight::{Grammar, LineState, Token, TokenKind, grammar_of};
pub use words::{changed_words, words_deadline};

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    /// A hunk header: the position of the next lines.
    Hunk,
    /// A line that is in both versions.
    Context,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// Any other line about the file.
    Note,
}

impl DiffLineKind {
    /// Class of the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Hunk => "place",
            Self::Context => "same",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Note => "note",
        }
    }

    /// The sign before the line.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "−",
            Self::Hunk | Self::Context | Self::Note => " ",
        }
    }
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Kind of the line.
    pub kind: DiffLineKind,
    /// Line number in the old version.
    pub before: Option<u32>,
    /// Line number in the new version.
    pub after: Option<u32>,
    /// Text without the sign, as bytes in any encoding.
    pub text: Vec<u8>,
}

/// The diff of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path.
    pub path: String,
    /// `added`, `removed`, or nothing.
    pub note: &'static str,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The rows of the diff.
    pub rows: Vec<DiffLine>,
}

/// The changed files of a diff, with their sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSummary {
    /// Path, note (`added`, `removed`), added and removed lines of each file.
    pub files: Vec<(String, &'static str, usize, usize)>,
    /// Whether the diff was cut off, so that there are more changes.
    pub truncated: bool,
}

impl ChangeSummary {
    /// Summarizes a unified diff.
    pub fn of(diff: &[u8], truncated: bool) -> Self {
        let files = parse_diff(diff).into_iter();
        Self {
            files: files
                .map(|file| (file.path, file.note, file.added, file.removed))
                .collect(),
            truncated,
        }
    }

    /// Number of added and removed lines.
    pub fn lines(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(added, removed), file| {
            (added + file.2, removed + file.3)
        })
    }
}

/// Parses a unified diff as git writes it.
pub fn parse_diff(diff: &[u8]) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut at: Option<HunkCursor> = None;
    for raw in diff.split(|byte| *byte == b'\n') {
        if let Some(rest) = raw.strip_prefix(b"diff --git ") {
            files.push(FileDiff {
                path: parse_path(rest),
                ..FileDiff::default()
            });
            at = None;
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if let Some(cursor) = at.as_mut().filter(|cursor| cursor.has_lines_left()) {
            let row = cursor.take_line(raw);
            file.added += usize::from(row.kind == DiffLineKind::Added);
            file.removed += usize::from(row.kind == DiffLineKind::Removed);
            file.rows.push(row);
        } else if let Some(cursor) = HunkCursor::parse(raw) {
            file.rows
                .push(diff_line(DiffLineKind::Hunk, None, None, raw));
            at = Some(cursor);
        } else if raw.starts_with(b"new file") {
            file.note = "added";
        } else if raw.starts_with(b"deleted file") {
            file.note = "removed";
        } else if !(raw.is_empty() || is_heading(raw)) {
            file.rows
                .push(diff_line(DiffLineKind::Note, None, None, raw));
        }
    }
    files
}

fn is_heading(raw: &[u8]) -> bool {
    [&b"index "[..], b"--- ", b"+++ "]
        .iter()
        .any(|heading| raw.starts_with(heading))
}

/// Parses `a/PATH b/PATH`. Both paths have the same length, because renames are not detected.
fn parse_path(rest: &[u8]) -> String {
    let middle = rest.len() / 2;
    let after = rest.get(middle + 1..).unwrap_or(rest);
    let path = after.strip_prefix(b"b/").unwrap_or(after);
    String::from_utf8_lossy(path).into_owned()
}

fn diff_line(kind: DiffLineKind, before: Option<u32>, after: Option<u32>, text: &[u8]) -> DiffLine {
    let text = text.to_vec();
    DiffLine {
        kind,
        before,
        after,
        text,
    }
}

/// Next line numbers in a hunk, and the number of lines left on each side.
struct HunkCursor {
    before: u32,
    after: u32,
    left: [u32; 2],
}

impl HunkCursor {
    /// Parses `@@ -1,2 +3,4 @@`.
    fn parse(raw: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(raw.get(..raw.len().min(80))?);
        let text = text.unwrap_or_else(|error| {
            let valid = raw.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        });
        let mut parts = text.strip_prefix("@@ ")?.split(' ');
        let side = |word: &str, sign: char| -> Option<(u32, u32)> {
            let word = word.strip_prefix(sign)?;
            let (line, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((line.parse().ok()?, count.parse().ok()?))
        };
        let before = side(parts.next()?, '-')?;
        let after = side(parts.next()?, '+')?;
        Some(Self {
            before: before.0,
            after: after.0,
            left: [before.1, after.1],
        })
    }

    fn has_lines_left(&self) -> bool {
        self.left != [0, 0]
    }

    fn take_line(&mut self, raw: &[u8]) -> DiffLine {
        let text = raw.get(1..).unwrap_or_default();
        let (before, after) = (Some(self.before), Some(self.after));
        let (kind, sides) = match raw.first() {
            Some(b'+') => (DiffLineKind::Added, [0, 1]),
            Some(b'-') => (DiffLineKind::Removed, [1, 0]),
            Some(b'\\') => return diff_line(DiffLineKind::Note, None, None, raw),
            _ => (DiffLineKind::Context, [1, 1]),
        };
        self.before = self.before.saturating_add(sides[0]);
        self.after = self.after.saturating_add(sides[1]);
        for (left, taken) in self.left.iter_mut().zip(sides) {
            *left = left.saturating_sub(taken);
        }
        diff_line(
            kind,
            before.filter(|_| sides[0] == 1),
            after.filter(|_| sides[1] == 1),
            text,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x y b/x y\nindex 1..2 100644\n--- a/x y\n+++ b/x y\n@@ -1,2 +1,2 @@ fn\n-old\n+--- new\n same\n\\ No newline at end of file\ndiff --git a/n b/n\nnew file mode 100644\n@@ -0,0 +1 @@\n+<b>\n";

    #[test]
    fn parse_diff_numbers_lines_and_ignores_heading_lookalikes() {
        let files = parse_diff(DIFF.as_bytes());
        assert_eq!(files.len(), 2);
        assert_eq!(
            (files[0].path.as_str(), files[0].added, files[0].removed),
            ("x y", 1, 1)
        );
        assert_eq!((files[1].path.as_str(), files[1].note), ("n", "added"));
        let kinds: Vec<_> = files[0].rows.iter().map(|row| row.kind).collect();
        assert_eq!(
            kinds,
            [
                DiffLineKind::Hunk,
                DiffLineKind::Removed,
                DiffLineKind::Added,
                DiffLineKind::Context,
                DiffLineKind::Note
            ]
        );
        let added = &files[0].rows[2];
        assert_eq!(
            (added.before, added.after, added.text.as_slice()),
            (None, Some(1), &b"--- new"[..])
        );
    }
}
