//! GitHub's workflow commands: lines that a job prints to annotate files of a pull request.
//!
//! GitHub shows ten errors and ten warnings of a step, so the verdict comes first and the number of
//! lines is bounded.

use super::account::Account;
use super::place::Places;
use super::remark::{Level, Remark, of_verdict, remarks};

/// Annotations that are printed, the verdict not counted.
const MOST: usize = 50;
/// Longest message, in characters: an annotation is no log.
const MESSAGE: usize = 2_000;

/// The lines, each a workflow command. Nothing that a tool said can begin a command of its own.
pub fn github(account: &Account<'_>, places: &Places<'_>) -> String {
    let mut all = remarks(account, places);
    all.retain(|remark| remark.rule != "verdict");
    all.sort_by_key(|remark| remark.level);
    let shown = all.iter().take(MOST).map(line);
    let verdict = std::iter::once(line(&of_verdict(account)));
    let mut lines: String = verdict.chain(shown).collect();
    if let Some(left_out) = all.len().checked_sub(MOST).filter(|left| *left > 0) {
        lines += &format!("::notice title=Selvedge::{left_out} more are not annotated\n");
    }
    lines
}

fn line(remark: &Remark) -> String {
    let command = match remark.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(place) = &remark.place {
        properties.push(format!("file={}", property(&place.path)));
        properties.extend(place.line.map(|line| format!("line={line}")));
        properties.extend(place.column.map(|column| format!("col={column}")));
    }
    let excused = if remark.is_known {
        " (known failure)"
    } else {
        ""
    };
    let title = format!("{}{excused}", remark.title);
    properties.push(format!("title={}", property(&title)));
    let mut message: String = remark.text.chars().take(MESSAGE).collect();
    if message.len() < remark.text.len() {
        message.push('…');
    }
    format!("::{command} {}::{}\n", properties.join(","), data(&message))
}

/// Text as a command's data: what would end the line is escaped, and the sign of escapes itself.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        // The older form of commands is looked for anywhere in a line.
        .replace("##[", "## [")
}

/// Text as a property's value, which commas and colons would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
