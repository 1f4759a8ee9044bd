//! Code that is not what a reader sees: another encoding, letters that the compiler takes for others, escapes in names,
//! and characters that change the order of what is shown.

use super::super::pattern::Pattern;
use super::super::text::SourceLanguage::{JavaScript, Python};
use super::Flag;
use super::change::ChangedLines;
use crate::model::{FindingKind, FindingSeverity};

/// The encoding that a Python source declares in one of its first two lines.
static ENCODING: Pattern = Pattern::new(r"^\s*#.*?coding[:=]\s*([-\w.]+)");
/// Encodings that show what they mean.
static PLAIN_ENCODING: Pattern = Pattern::new(
    r"(?i)^(?:utf[-_]?8(?:[-_]sig)?|u8|ascii|us-ascii|latin[-_]?1|iso-?8859-?\d+|cp\d+|windows-\d+|euc[-_]\w+|gb\w+|big5|shift[-_]jis|koi8-?\w)$",
);
/// `process.mod\u0075les`
static ESCAPED_NAME: Pattern =
    Pattern::new(r"[\w$.]\\u(?:[0-9a-fA-F]{4}|\{)|^\s*\\u(?:[0-9a-fA-F]{4}|\{)");
static REGEX_LITERAL: Pattern = Pattern::new(r"/[^/]*\\u[^/]*/");

pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let hides = |line: &&usize| {
        let code = file.new.code.get(**line).map_or("", String::as_str);
        let whole = file.line_now(**line).unwrap_or_default();
        let declares = || {
            let found = ENCODING.regex().and_then(|regex| regex.captures(whole));
            found.is_some_and(|found| !PLAIN_ENCODING.is_match(&found[1]))
        };
        let is_escaped = || ESCAPED_NAME.is_match(code) && !REGEX_LITERAL.is_match(code);
        let is_python = file.language == Python;
        (is_python && **line < 2 && whole.contains("coding") && declares())
            || (file.language == JavaScript && code.contains("\\u") && is_escaped())
            || (!whole.is_ascii()
                && (whole.contains(is_reordering) || (is_python && code.contains(is_look_alike))))
    };
    let what =
        "contains code that is not what a reader sees (encoding, escapes or look-alike letters)";
    let flag = |line: &usize| {
        Flag::new(
            Some(*line),
            FindingKind::TestDetection,
            FindingSeverity::Strong,
            what,
        )
    };
    added.iter().filter(hides).map(flag).collect()
}

/// Characters that change the order in which a line is shown.
fn is_reordering(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Letters that Python takes for those of ASCII: wide, mathematical, and ligatures.
fn is_look_alike(letter: char) -> bool {
    matches!(
        letter,
        '\u{ff10}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{fb00}'..='\u{fb06}' | '\u{2100}'..='\u{214f}'
    )
}
