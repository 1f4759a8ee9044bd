//! A file that does not parse, as a failure in a report.

use selvedge_digest::{Failure, FailureKind, FailureSource, SUMMARY_CHARS};
use selvedge_syntax::SyntaxError;

/// Maximum characters of a quoted line of the file.
const MAX_QUOTED_CHARS: usize = 160;

/// Creates the failure; `text` is the file's content.
pub(crate) fn parse_failure(path: &str, fault: Option<&SyntaxError>, text: &str) -> Failure {
    let message = fault.map_or("", |fault| &fault.message);
    let line = fault.map(|fault| fault.line);
    let quoted = line
        .and_then(|line| {
            text.lines()
                .nth(usize::try_from(line).ok()?.checked_sub(1)?)
        })
        .map(|line| {
            line.trim_end()
                .chars()
                .take(MAX_QUOTED_CHARS)
                .collect::<String>()
        });
    let is_long = message.chars().count() > SUMMARY_CHARS;
    Failure {
        kind: FailureKind::Compile,
        file: Some(path.to_owned()),
        line,
        column: fault.and_then(|fault| fault.column),
        summary: message.chars().take(SUMMARY_CHARS).collect(),
        message: is_long.then(|| message.to_owned()),
        excerpt: quoted.filter(|line| !line.trim().is_empty()),
        tool: Some("syntax".to_owned()),
        count: 1,
        source: FailureSource::Structured,
        ..Failure::default()
    }
}
