//! Code that a linter or a type checker had reported and that is now, unchanged, in another file where it does not: in a
//! folder or with a name that the tool skips.

use super::suppressions::is_same_file;
use super::{ChangedFile, Flag, KnownDiagnostic};
use crate::model::{FindingKind, FindingSeverity};

/// Shorter code occurs in unrelated files.
const MIN_CHARS: usize = 12;

/// Flags a file that has got code with a diagnostic from another one.
pub(super) fn flags(
    file: &ChangedFile<'_>,
    changes: &[ChangedFile<'_>],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Flag> {
    let sources = changes.iter().filter(|source| source.path != file.path);
    let found = sources.flat_map(|source| {
        let reported = diagnostics.iter();
        let reported = reported.filter(|it| is_same_file(&it.file, source.path));
        reported.filter_map(|it| Some((source.path, moved_to(source, file, it)?)))
    });
    let flag = |(source, line)| {
        Flag::new(
            Some(line),
            FindingKind::Suppression,
            FindingSeverity::Strong,
            format!("holds unchanged what a linter or a type checker reported in {source}"),
        )
    };
    found.map(flag).collect()
}

/// The index of the line in `file` to which the reported code of `source` was moved.
fn moved_to(
    source: &ChangedFile<'_>,
    file: &ChangedFile<'_>,
    reported: &KnownDiagnostic,
) -> Option<usize> {
    let before = String::from_utf8_lossy(source.before?);
    let code = match reported.line {
        Some(line) => reported_code(&before, usize::try_from(line).ok()?)?,
        None => code_lines(&before).map(|(_, line)| line).collect(),
    };
    let position = |text: Option<&[u8]>| find(&String::from_utf8_lossy(text?), &code);
    let is_long = code.iter().map(|line| line.len()).sum::<usize>() >= MIN_CHARS;
    let is_new = is_long && position(source.after).is_none() && position(file.before).is_none();
    position(file.after).filter(|_| is_new)
}

/// The reported line, counted from 1, with the code lines before and after it.
fn reported_code(text: &str, line: usize) -> Option<Vec<&str>> {
    let lines: Vec<_> = code_lines(text).collect();
    let at = lines.iter().position(|(number, _)| *number + 1 == line)?;
    let around = &lines[at.saturating_sub(1)..(at + 2).min(lines.len())];
    Some(around.iter().map(|(_, line)| *line).collect())
}

/// The lines that are not empty, without indentation, and their indices.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim).enumerate();
    lines.filter(|(_, line)| !line.is_empty())
}

/// The index of the first line of `code` in a text.
fn find(text: &str, code: &[&str]) -> Option<usize> {
    let lines: Vec<_> = code_lines(text).collect();
    let is_code = |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| line).eq(code);
    let mut windows = lines.windows(code.len().max(1));
    windows.find(|lines| is_code(lines)).map(|lines| lines[0].0)
}
