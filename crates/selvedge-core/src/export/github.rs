//! GitHub workflow commands: lines that a job prints to annotate files of a pull request.
//!
//! GitHub shows ten errors and ten warnings per step, so the verdict comes first and the number of lines is bounded.

use super::annotation::{Annotation, AnnotationLevel, annotations, verdict_annotation};
use super::input::ReportInput;
use super::location::LocationResolver;

/// Maximum number of annotations, not counting the verdict.
const MAX_ANNOTATIONS: usize = 50;
/// Maximum length of a message, in characters: an annotation is not a log.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// The lines, each a workflow command. Tool output cannot start a command of its own.
pub fn github(account: &ReportInput<'_>, places: &LocationResolver<'_>) -> String {
    let mut all = annotations(account, places);
    all.retain(|remark| remark.rule != "verdict");
    all.sort_by_key(|remark| remark.level);
    let shown = all.iter().take(MAX_ANNOTATIONS).map(line);
    let verdict = std::iter::once(line(&verdict_annotation(account)));
    let mut lines: String = verdict.chain(shown).collect();
    if let Some(left_out) = all
        .len()
        .checked_sub(MAX_ANNOTATIONS)
        .filter(|left| *left > 0)
    {
        lines += &format!("::notice title=Selvedge::{left_out} further annotations omitted\n");
    }
    lines
}

fn line(remark: &Annotation) -> String {
    let command = match remark.level {
        AnnotationLevel::Error => "error",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(place) = &remark.location {
        properties.push(format!("file={}", escape_property(&place.path)));
        properties.extend(place.line.map(|line| format!("line={line}")));
        properties.extend(place.column.map(|column| format!("col={column}")));
    }
    let excused = if remark.is_known {
        " (known failure)"
    } else {
        ""
    };
    let title = format!("{}{excused}", remark.title);
    properties.push(format!("title={}", escape_property(&title)));
    let mut message: String = remark.text.chars().take(MAX_MESSAGE_CHARS).collect();
    if message.len() < remark.text.len() {
        message.push('…');
    }
    format!(
        "::{command} {}::{}\n",
        properties.join(","),
        escape_data(&message)
    )
}

/// Escapes text as a command's data: line breaks and the escape character itself.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        // GitHub recognizes the older form of commands anywhere in a line.
        .replace("##[", "## [")
}

/// Escapes text as a property's value, which commas and colons would end.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
