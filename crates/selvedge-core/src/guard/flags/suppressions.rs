//! Comments and attributes that suppress what a linter or a type checker reports.

use std::collections::BTreeSet;

use super::super::pattern::Pattern;
use super::super::text::{SourceLanguage, language};
use super::Flag;
use super::change::ChangedLines;
use super::functions::MAX_LINES_ABOVE;
use crate::model::{FindingKind, FindingSeverity};

/// A diagnostic that a linter or a type checker reported before the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDiagnostic {
    /// As the tool wrote it; `None` for a message about the whole project.
    pub file: Option<String>,
    /// Counted from 1; `None` for a message about the whole file, as formatters write them.
    pub line: Option<u32>,
    /// The message, which may quote names.
    pub message: String,
    /// Whether the code did not build.
    pub is_build_error: bool,
}

static IN_COMMENTS: Pattern = Pattern::new(concat!(
    r"#\s*(?:noqa|type:\s*ignore|pylint:\s*(?:disable|skip)|pragma:\s*no cover|nosec|mypy:|pyright:|ruff:|flake8:|fmt:\s*(?:off|skip)|isort:\s*(?:off|skip)|yapf:\s*disable)",
    r"|#\s*(?:pyre-(?:ignore|fixme|strict)|pytype:\s*disable|shellcheck\s+disable|yamllint\s+disable|hadolint\s+ignore|typed:\s*(?:ignore|false)|credo:disable)",
    r"|eslint-disable|/\*\s*eslint\s+[\w@/-]+\s*:|@ts-(?:ignore|nocheck|expect-error)|biome-ignore|prettier-ignore|(?:istanbul|c8|v8) ignore|oxlint-disable",
    r"|(?:tslint|swiftlint|ktlint|stylelint)[:-]disable|deno-lint-ignore|nosemgrep|noinspection",
    r"|//\s*(?:(?i:nolint)|#nosec|lint:(?:file-)?ignore|revive:disable)|rubocop:(?:disable|todo)|:nocov:|standard:disable",
    r"|cppcheck-suppress|clang-format\s+off|(?i:checkstyle:\s*off)|@formatter:off",
    r"|phpcs:(?:ignore|disable)|@phpstan-ignore|@psalm-suppress|@phan-suppress|@codeCoverageIgnore|NOSONAR",
));
/// Words of comments by which any tool leaves out a line. They occur in ordinary comments too.
static LEAVES_OUT: Pattern = Pattern::new(
    r"(?i)\b(?:disabled?|ignored?|suppress(?:ed)?|skip(?:ped)?|off|no-?(?:qa|lint|warn|check|sec))\b",
);
static ATTRIBUTE: Pattern = Pattern::new(
    r"#!?\[(?:allow|expect)\s*\(|#!?\[(?:rustfmt::skip|coverage\s*\(\s*off)|\bassert\s+not\s+(?:typing\.)?TYPE_CHECKING\b|@Suppress(?:Warnings|Lint|FBWarnings)?\b|#pragma\s+(?:warning\s+disable|(?:GCC|clang)\s+diagnostic\s+ignored)|@dialyzer\b",
);
/// A message about a coverage that is too low.
static COVERAGE: Pattern = Pattern::new(r"(?i)\bcoverage\b");
/// Comments and attributes that leave out code from the measured test coverage.
static NOT_MEASURED: Pattern = Pattern::new(
    r"pragma:\s*no ?cover|(?:istanbul|c8|v8) ignore|node:coverage (?:ignore|disable)|:nocov:|@codeCoverageIgnore|\b[LG]COVR?_EXCL|\bcoverage\s*\(\s*off|\bcov(?:erage)?[:-](?:ignore|off|skip)",
);
/// Types that accept any value, such as `any`, and casts: they hide errors from a type checker.
static ANY_TYPE: Pattern = Pattern::new(
    r"\bcast\s*\(|\bas\s+(?:any|never|unknown)\b|:\s*[Aa]ny\b|@(?:\w+\.)?no_type_check\b",
);
/// A cast around a value.
static CAST: Pattern = Pattern::new(
    r"\bcast\s*\(\s*[^,()]*,\s*([^()]*)\)|\s+as\s+(?:any|never|unknown)\b(?:\s+as\s+[\w.<>\[\]]+)?",
);
/// Comments and attributes that make formatters skip code.
static UNFORMATTED: Pattern = Pattern::new(
    r"fmt:\s*(?:off|skip)|yapf:\s*disable|prettier-ignore|biome-ignore\s+format|rustfmt::skip|clang-format\s+off|dprint-ignore",
);
/// Branches that a type checker reads or does not read; `MYPY` is a constant that only mypy takes for true.
static CHECKER_BRANCH: Pattern =
    Pattern::new(r"^\s*if\s+(?:not\s+)?(?:typing\.)?(?:TYPE_CHECKING|MYPY)\s*:");
/// TypeScript's `x!`, which removes "may be missing" from a type.
static NULL_ASSERTION: Pattern = Pattern::new(r"[\w)\]]!(?:[^=\w]|$)");
/// TypeScript's `x as T` and `<T>x`.
static TYPE_ASSERTION: Pattern = Pattern::new(
    r"\s+as\s+(?:const\b|[A-Za-z_$][\w$.]*(?:<[^<>]*>)?(?:\[\])*(?:\s*\|\s*[A-Za-z_$][\w$.]*(?:\[\])*)*)|<[A-Za-z_$][\w$.]*(?:\[\])*>",
);
/// TypeScript's assertion of another type for a function.
static FUNCTION_ASSERTION: Pattern = Pattern::new(
    r"([\w$]+)\)?\s+as\s+(?:typeof\b|\(?\([^)]*\)\s*=>)|<\([^)]*\)\s*=>[^<>]*>\s*\(?([\w$]+)",
);
/// Suppressions that apply to a whole file.
static WHOLE_FILE: Pattern = Pattern::new(
    r"@ts-nocheck|^\s*assert\s+not\s+(?:typing\.)?TYPE_CHECKING|^\s*#\s*type:\s*ignore|@(?:\w+\.)?no_type_check\b|#!\[(?:allow|expect)|^\s*#\s*isort:\s*(?:off|skip)|#\s*(?:mypy|ruff|pyright|flake8|pylint):\s*(?:ignore|noqa|disable|basic)|/\*\s*eslint(?:-disable\b|\s+[\w@/-]+\s*:)|phpcs:ignoreFile|rubocop:(?:disable|todo)|pylint:\s*skip|shellcheck\s+disable|yamllint\s+disable|typed:\s*(?:ignore|false)|(?:tslint|swiftlint|ktlint|stylelint)[:-]disable|deno-lint-ignore-file|biome-ignore-all|NOLINTBEGIN|lint:file-ignore|diagnostic\s+ignored|(?i:checkstyle:\s*off)",
);

/// Declarations of what is defined elsewhere, for a type checker only.
static AMBIENT: Pattern = Pattern::new(
    r"\bdeclare\s+(?:global|module|namespace|const|let|var|function|class|abstract|interface|type|enum)\b|^\s*if\s+(?:typing\.)?TYPE_CHECKING\b",
);
/// The name that a line declares.
static DECLARED: Pattern = Pattern::new(
    r"\b(?:const|let|var|function|class|interface|type|enum|def)\s+([\w$]+)|^\s*(?:readonly\s+)?([\w$]+)\??\s*[:(=]|[{;,]\s*(?:readonly\s+)?([\w$]+)\??\s*[:(]",
);

/// The names that messages quote: `Property 'host' does not exist on type 'Config'`.
fn quoted_names(diagnostics: &[KnownDiagnostic]) -> BTreeSet<&str> {
    let messages = diagnostics.iter().map(|it| it.message.as_str());
    let quoted = messages.flat_map(|message| message.split(['\'', '"', '`']).skip(1).step_by(2));
    let is_part = |it: char| !it.is_alphanumeric() && !matches!(it, '_' | '$');
    quoted
        .flat_map(move |text| text.split(is_part))
        .filter(|name| !name.is_empty())
        .collect()
}

/// The added lines that declare, for the type checker only, a name that a message quotes.
fn declarations(file: &ChangedLines<'_>, added: &[usize], quoted: &BTreeSet<&str>) -> Vec<usize> {
    let code = |line: usize| file.new.code.get(line).map_or("", String::as_str);
    let indent = |line: usize| code(line).len() - code(line).trim_start().len();
    let Some(regex) = DECLARED.regex().filter(|_| !quoted.is_empty()) else {
        return Vec::new();
    };
    let is_ambient = |line: usize| {
        let above = (0..=line).rev().take(MAX_LINES_ABOVE);
        let above = above.filter(|it| !code(*it).trim().is_empty());
        let mut inner = usize::MAX;
        for other in above {
            if indent(other) < inner || other == line {
                inner = indent(other);
                if AMBIENT.is_match(code(other)) {
                    return true;
                }
                if inner == 0 {
                    return false;
                }
            }
        }
        false
    };
    let declares = |line: &usize| {
        let mut found = regex.captures_iter(code(*line));
        let is_named = found.any(|found| {
            let mut names = found.iter().skip(1).flatten();
            names.any(|name| quoted.contains(name.as_str()))
        });
        is_named && is_ambient(*line)
    };
    added.iter().copied().filter(declares).collect()
}

/// A suppression is strong if the tool had reported a diagnostic on that line, or anywhere in a file that is suppressed
/// as a whole; otherwise it is only shown.
pub(super) fn flags(
    file: &ChangedLines<'_>,
    added: &[usize],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Flag> {
    let reported: Vec<&str> = diagnostics
        .iter()
        .filter(|it| is_reported_in(it, file.path))
        .filter_map(|it| file.line_before(usize::try_from(it.line?).ok()?.checked_sub(1)?))
        .map(strip_comment)
        .collect();
    let lacks_coverage = diagnostics
        .iter()
        .any(|it| it.file.is_none() && COVERAGE.is_match(&it.message));
    let is_file_reported = diagnostics
        .iter()
        .any(|it| it.line.is_none() && is_reported_in(it, file.path));
    let flag = |&line: &usize| {
        let code = file.new.code.get(line).map_or("", String::as_str);
        let comment = file.new.comments.get(line).map_or("", String::as_str);
        let asserts = language(file.path) == Some(SourceLanguage::JavaScript)
            && NULL_ASSERTION.is_match(code);
        let is_script = language(file.path) == Some(SourceLanguage::JavaScript);
        let hides_type = !reported.is_empty()
            && (asserts
                || ANY_TYPE.is_match(code)
                || (is_script && asserts_only_type(code, &reported)));
        let hides_function = is_script && asserts_used_function(code, &reported);
        let text = file.line_now(line).unwrap_or_default();
        let next = file.line_now(line + 1).unwrap_or_default();
        let is_same = |line: &str| {
            let line = strip_comment(line);
            !line.is_empty() && reported.contains(&line)
        };
        if lacks_coverage && (NOT_MEASURED.is_match(comment) || NOT_MEASURED.is_match(code)) {
            return Some(Flag::new(
                Some(line),
                FindingKind::Suppression,
                FindingSeverity::Strong,
                "leaves out code from the test coverage that a check requires",
            ));
        }
        let leaves_out = LEAVES_OUT.is_match(comment) && (is_same(text) || is_same(next));
        let hides = hides_type || hides_function || leaves_out;
        if !IN_COMMENTS.is_match(comment) && !ATTRIBUTE.is_match(code) && !hides {
            return None;
        }
        let is_reported = |line: &str| {
            let plain = strip_cast;
            let same = |reported: &&&str| {
                plain(reported) == plain(line)
                    || assignment_target(reported) == assignment_target(line)
            };
            !strip_comment(line).is_empty() && reported.iter().any(|it| same(&it))
        };
        let hides_file = (!reported.is_empty() && WHOLE_FILE.is_match(text))
            || (is_file_reported && UNFORMATTED.is_match(text));
        if is_reported(text) || is_reported(next) || hides_file || hides_function || leaves_out {
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
    let declared = declarations(file, added, &quoted_names(diagnostics));
    let declared = declared.into_iter().map(|line| {
        let what = "declares, for the type checker only, a name that it had reported";
        Flag::new(
            Some(line),
            FindingKind::Suppression,
            FindingSeverity::Strong,
            what,
        )
    });
    let unread = added.iter().filter(|line| {
        let unread = lines_without_check(file, **line);
        unread
            .iter()
            .any(|line| reported.contains(&strip_comment(line)))
    });
    let unread = unread.map(|line| {
        let what = "keeps what a type checker had reported in a branch that it does not read";
        Flag::new(
            Some(*line),
            FindingKind::Suppression,
            FindingSeverity::Strong,
            what,
        )
    });
    let is_reported = diagnostics
        .iter()
        .any(|it| !it.is_build_error && is_reported_in(it, file.path));
    let hidden = added
        .iter()
        .filter(|line| is_reported && hides_code(file, **line));
    let hidden = hidden.map(|line| {
        let what = "hides code from a linter or a type checker that had reported this file";
        Flag::new(
            Some(*line),
            FindingKind::Suppression,
            FindingSeverity::Strong,
            what,
        )
    });
    let flags = added.iter().filter_map(flag);
    flags.chain(declared).chain(unread).chain(hidden).collect()
}

/// Whether a line runs a text as code, names something by a text, or is the header of a function that had types before:
/// checkers read none of these.
fn hides_code(file: &ChangedLines<'_>, line: usize) -> bool {
    static BY_TEXT: Pattern = Pattern::new(
        r"\b(?:eval|exec)\s*\(|\bFunction\s*\(|\bglobals\s*\(\s*\)\s*\[|\bgetattr\s*\(\s*[\w.]+\s*,\s*['\x22]+\s*['\x22]*\s*\)\s*\(",
    );
    static HEADER: Pattern = Pattern::new(r"^\s*(?:async\s+)?def\s+(\w+)\s*\(([^:]*)\)\s*:");
    let code = file.new.code.get(line).map_or("", String::as_str);
    if BY_TEXT.is_match(code) {
        return true;
    }
    let found = HEADER.regex().and_then(|regex| regex.captures(code));
    let Some(name) = found.map(|found| format!("def {}(", &found[1])) else {
        return false;
    };
    let mut before = file.removed_lines();
    before.any(|(_, before)| {
        let is_typed = before.contains("->") || before.matches(':').count() > 1;
        before.contains(&name) && is_typed
    })
}

/// The lines of a branch that type checkers do not read: the `else` of `if TYPE_CHECKING`, and `if not TYPE_CHECKING`.
fn lines_without_check<'a>(file: &ChangedLines<'a>, branch: usize) -> Vec<&'a str> {
    let code = |line: usize| file.new.code.get(line).map(String::as_str);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(head) = code(branch).filter(|head| CHECKER_BRANCH.is_match(head)) else {
        return Vec::new();
    };
    let mut is_unread = head.contains(" not ");
    let mut lines = Vec::new();
    for line in branch + 1.. {
        let Some(text) = code(line) else { break };
        if text.trim().is_empty() {
            continue;
        }
        if indent(text) <= indent(head) {
            is_unread = !is_unread && text.trim_start().starts_with("else");
            if !is_unread {
                break;
            }
        } else if is_unread {
            lines.extend(file.line_now(line));
        }
    }
    lines
}

/// The line without its comment, layout, casts and the parentheses that they need.
fn strip_cast(line: &str) -> String {
    let line = strip_comment(line);
    let plain = CAST
        .regex()
        .map_or_else(|| line.into(), |cast| cast.replace_all(line, "$1"));
    plain
        .chars()
        .filter(|it| !it.is_whitespace() && !matches!(it, '!' | '(' | ')'))
        .collect()
}

/// Whether the line asserts another type for a function that a reported line calls.
fn asserts_used_function(code: &str, reported: &[&str]) -> bool {
    let found = FUNCTION_ASSERTION
        .regex()
        .and_then(|regex| regex.captures(code));
    let Some(name) = found.and_then(|found| found.get(1).or(found.get(2))) else {
        return false;
    };
    let calls = |line: &&str| {
        let mut before = line.match_indices(name.as_str());
        before.any(|(at, name)| {
            let is_whole = !line[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_');
            is_whole && line[at + name.len()..].starts_with('(')
        })
    };
    reported.iter().any(calls)
}

/// Whether the line is a reported one with a type assertion.
fn asserts_only_type(code: &str, reported: &[&str]) -> bool {
    let compact = |line: &str| -> String {
        let plain = TYPE_ASSERTION
            .regex()
            .map(|regex| regex.replace_all(line, "").into_owned());
        let plain = plain.unwrap_or_default();
        plain
            .chars()
            .filter(|it| !it.is_whitespace() && !matches!(it, '(' | ')'))
            .collect()
    };
    TYPE_ASSERTION.is_match(code)
        && reported
            .iter()
            .any(|line| !TYPE_ASSERTION.is_match(line) && compact(line) == compact(code))
}

/// Flags a JavaScript file in the place of a removed TypeScript file with diagnostics: it may not be checked at all.
pub(super) fn unchecked(
    file: &ChangedLines<'_>,
    changed: &[ChangedLines<'_>],
    diagnostics: &[KnownDiagnostic],
) -> Option<Flag> {
    let typed = |path: &str| {
        let (stem, ending) = path.rsplit_once('.')?;
        matches!(ending, "ts" | "tsx" | "mts" | "cts").then(|| stem.to_owned())
    };
    let (stem, ending) = file.path.rsplit_once('.')?;
    let is_script = matches!(ending, "js" | "jsx" | "mjs" | "cjs");
    let is_replaced = |other: &&ChangedLines<'_>| {
        other.is_removed()
            && typed(other.path).as_deref() == Some(stem)
            && diagnostics.iter().any(|it| is_reported_in(it, other.path))
    };
    (is_script && changed.iter().any(|other| is_replaced(&other))).then(|| {
        Flag::new(
            None,
            FindingKind::Suppression,
            FindingSeverity::Strong,
            "replaces a file with reported types by one that may not be checked",
        )
    })
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

/// Whether a diagnostic is about a file.
pub(super) fn is_reported_in(reported: &KnownDiagnostic, path: &str) -> bool {
    let file = reported.file.as_deref().unwrap_or_default();
    let file = file.trim_start_matches("./");
    file == path || file.ends_with(&format!("/{path}"))
}
