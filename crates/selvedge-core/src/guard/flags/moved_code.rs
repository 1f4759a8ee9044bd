//! Code that a linter or a type checker had reported and that is now, unchanged, in another file where it does not: in a
//! folder or with a name that the tool skips. Tests are not meant: the original ones are checked too. Neither is code that
//! did not build: what it lacked may have been added anywhere.

use super::super::text::is_test_path;
use super::suppressions::is_reported_in;
use super::{ChangedFile, Flag, KnownDiagnostic};
use crate::model::{FindingKind, FindingSeverity};

/// Shorter code occurs in unrelated files.
const MIN_CHARS: usize = 12;

/// Flags a file from which code with a diagnostic was moved to another one.
pub(super) fn flags(
    source: &ChangedFile<'_>,
    changes: &[ChangedFile<'_>],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Flag> {
    if is_test_path(source.path) {
        return Vec::new();
    }
    let reported = diagnostics.iter();
    let reported = reported.filter(|it| !it.is_build_error && is_reported_in(it, source.path));
    let target = |it: &KnownDiagnostic| {
        let others = changes.iter().filter(|file| file.path != source.path);
        others
            .filter(|file| has_moved(source, file, it).unwrap_or_default())
            .map(|file| file.path)
            .next()
    };
    let flag = |target| {
        Flag::new(
            None,
            FindingKind::Suppression,
            FindingSeverity::Strong,
            format!("what a linter or a type checker reported is unchanged in {target}"),
        )
    };
    reported.filter_map(target).map(flag).collect()
}

/// Whether the reported code of `source` is in `file` instead.
fn has_moved(
    source: &ChangedFile<'_>,
    file: &ChangedFile<'_>,
    reported: &KnownDiagnostic,
) -> Option<bool> {
    let before = String::from_utf8_lossy(source.before?);
    let code = match reported.line {
        Some(line) => reported_code(&before, usize::try_from(line).ok()?)?,
        None => code_lines(&before).map(|(_, line)| line).collect(),
    };
    let is_long = code.iter().map(|line| line.len()).sum::<usize>() >= MIN_CHARS;
    let is_in = |text: Option<&[u8]>| {
        text.is_some_and(|text| contains(&String::from_utf8_lossy(text), &code))
    };
    Some(is_long && is_in(file.after) && !is_in(file.before) && !is_in(source.after))
}

/// The reported line, counted from 1, with the code lines before and after it.
fn reported_code(text: &str, line: usize) -> Option<Vec<&str>> {
    let lines: Vec<_> = code_lines(text).collect();
    let at = lines.iter().position(|(number, _)| *number == line)?;
    let around = &lines[at.saturating_sub(1)..(at + 2).min(lines.len())];
    Some(around.iter().map(|(_, line)| *line).collect())
}

/// The lines that are not empty, without indentation, with their numbers.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty())
}

fn contains(text: &str, code: &[&str]) -> bool {
    let lines: Vec<_> = code_lines(text).map(|(_, line)| line).collect();
    lines.windows(code.len().max(1)).any(|lines| lines == code)
}
