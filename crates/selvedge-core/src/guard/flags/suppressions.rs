//! Comments and attributes that suppress what a linter or a type checker reports.

use super::super::pattern::Pattern;
use super::super::text::{SourceLanguage, language};
use super::Flag;
use super::change::ChangedLines;
use crate::model::{FindingKind, FindingSeverity};

/// A diagnostic that a linter or a type checker reported before the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDiagnostic {
    /// As the tool wrote it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

static IN_COMMENTS: Pattern = Pattern::new(concat!(
    r"#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no cover|nosec|mypy:|pyright:|ruff:|flake8:|fmt:\s*(?:off|skip))",
    r"|eslint-disable|/\*\s*eslint\s+[\w@/-]+\s*:|@ts-(?:ignore|nocheck|expect-error)|biome-ignore|prettier-ignore|(?:istanbul|c8|v8) ignore|oxlint-disable",
    r"|//\s*(?:nolint|#nosec|lint:ignore)|rubocop:disable|:nocov:|standard:disable",
    r"|phpcs:(?:ignore|disable)|@phpstan-ignore|@psalm-suppress|@codeCoverageIgnore|NOSONAR",
));
static ATTRIBUTE: Pattern = Pattern::new(
    r"#!?\[(?:allow|expect)\s*\(|#!?\[(?:rustfmt::skip|coverage\s*\(\s*off)|\bassert\s+not\s+(?:typing\.)?TYPE_CHECKING\b|@SuppressWarnings|@Suppress\b|#pragma\s+warning\s+disable",
);
/// Types that accept any value, such as `any`: they hide errors from a type checker.
static ANY_TYPE: Pattern = Pattern::new(
    r"\bcast\s*\(\s*['\x22]?Any\b|\bas\s+(?:any|never)\b|:\s*[Aa]ny\b|@(?:\w+\.)?no_type_check\b",
);
/// TypeScript's `x!`, which removes "may be missing" from a type.
static NULL_ASSERTION: Pattern = Pattern::new(r"[\w)\]]!(?:[^=\w]|$)");
/// Suppressions that apply to a whole file.
static WHOLE_FILE: Pattern = Pattern::new(
    r"@ts-nocheck|^\s*assert\s+not\s+(?:typing\.)?TYPE_CHECKING|^\s*#\s*type:\s*ignore|@(?:\w+\.)?no_type_check\b|#!\[(?:allow|expect)|#\s*(?:mypy|ruff|pyright|flake8|pylint):\s*(?:ignore|noqa|disable|basic)|/\*\s*eslint(?:-disable\b|\s+[\w@/-]+\s*:)|phpcs:ignoreFile|rubocop:disable",
);

/// A suppression is strong if the tool had reported a diagnostic on that line, or anywhere in a file that is
/// suppressed as a whole; otherwise it is only shown.
pub(super) fn flags(
    file: &ChangedLines<'_>,
    added: &[usize],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Flag> {
    let reported: Vec<&str> = diagnostics
        .iter()
        .filter(|it| is_same_file(&it.file, file.path))
        .filter_map(|it| file.line_before(usize::try_from(it.line).ok()?.checked_sub(1)?))
        .map(strip_comment)
        .collect();
    let flag = |&line: &usize| {
        let code = file.new.code.get(line).map_or("", String::as_str);
        let comment = file.new.comments.get(line).map_or("", String::as_str);
        let asserts = language(file.path) == Some(SourceLanguage::JavaScript)
            && NULL_ASSERTION.is_match(code);
        let hides_type = !reported.is_empty() && (asserts || ANY_TYPE.is_match(code));
        if !IN_COMMENTS.is_match(comment) && !ATTRIBUTE.is_match(code) && !hides_type {
            return None;
        }
        let text = file.line_now(line).unwrap_or_default();
        let next = file.line_now(line + 1).unwrap_or_default();
        let is_reported = |line: &str| {
            let plain = |line: &str| strip_comment(line).replace('!', "");
            let same = |reported: &&&str| {
                plain(reported) == plain(line)
                    || assignment_target(reported) == assignment_target(line)
            };
            !strip_comment(line).is_empty() && reported.iter().any(|it| same(&it))
        };
        let hides_file = !reported.is_empty() && WHOLE_FILE.is_match(text);
        if is_reported(text) || is_reported(next) || hides_file {
            let what =
                "suppresses what a linter or a type checker reported here instead of fixing it";
            return Some(Flag::new(
                Some(line),
                FindingKind::Suppression,
                FindingSeverity::Strong,
                what,
            ));
        }
        let what = "suppresses a linter or a type checker";
        (!hides_type).then(|| {
            Flag::new(
                Some(line),
                FindingKind::Suppression,
                FindingSeverity::Weak,
                what,
            )
        })
    };
    added.iter().filter_map(flag).collect()
}

/// The line without its comment and layout.
fn strip_comment(line: &str) -> &str {
    let marks = ["#", "//", "/*"];
    let end = marks
        .iter()
        .filter_map(|mark| line.find(mark))
        .filter(|at| *at > 0)
        .min();
    line.get(..end.unwrap_or(line.len())).unwrap_or(line).trim()
}

/// The target of an assignment; the line itself if it is not one.
fn assignment_target(line: &str) -> &str {
    let line = strip_comment(line);
    match line.split_once('=') {
        Some((name, _)) => name.split(':').next().unwrap_or(name).trim(),
        None => line,
    }
}

fn is_same_file(reported: &str, path: &str) -> bool {
    let reported = reported.trim_start_matches("./");
    reported == path || reported.ends_with(&format!("/{path}"))
}
