//! Files that are lists of steps or switches, one a line (CI, Taskfile, lint configuration in
//! YAML or XML): what stood there must still stand there, in its order; what is added must not
//! make failures count for nothing.

use std::collections::HashSet;

use super::super::pattern::Pattern;
use super::judge::Switch;

/// A failure that no longer counts, in whatever file a command stands.
pub(in crate::guard) static IGNORES_FAILURE: Pattern = Pattern::new(concat!(
    r"\|\|\s*(?:true\b|:(?:\s|$)|exit\s+0\b|echo\b)|;\s*(?:true|exit\s+0)\s*(?:$|['\x22;)])",
    r"|\bset\s+\+e\b|\bcontinue-on-error\s*:\s*true|\ballow_failure\s*:\s*true",
    r"|\bignore_error\s*:\s*true|\bignore_failure|--exit-zero\b|--passWithNoTests\b|--no-fail\b",
    r"|--force-exit-success|--suppress-tests-failed|-Dmaven\.test\.failure\.ignore|-DskipTests",
    r"|-Dmaven\.test\.skip|\bexit\s+0\s*$",
));
static LOOKS_AWAY: Pattern = Pattern::new(concat!(
    r"(?i)^\s*-?\s*(?:exclude\w*|ignore\w*|skip\w*|disable|exclude-rules|Enabled)\b\s*:",
    r"|<exclude|\bif\s*:\s*(?:false|\$\{\{\s*false)|severity\s*:\s*(?:off|ignore|info)|:\s*(?:off|['\x22]off['\x22])\s*$",
));

/// Comments and blank lines are nobody's business.
fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
}

/// The lines of content, trimmed, with their numbers.
fn content(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1_u32..).zip(text.lines().map(str::trim_end));
    lines.filter(|(_, line)| is_content(line.trim_start()))
}

/// Compares in order: a line that is gone or moved is an offence.
pub(super) fn compare(before: &str, after: &str) -> Vec<Switch> {
    let mut old = content(before).map(|(_, line)| line).peekable();
    let is_new = old.peek().is_none();
    let mut switches = Vec::new();
    let mut added = 0_u32;
    for (number, line) in content(after) {
        if old.peek() == Some(&line) {
            old.next();
            continue;
        }
        added += 1;
        if IGNORES_FAILURE.is_match(line) || (!is_new && LOOKS_AWAY.is_match(line)) {
            let what = format!("`{}` was added: failures would not count", line.trim());
            switches.push(Switch::offence(what).at(number));
        }
    }
    if let Some(gone) = old.next() {
        switches.push(Switch::offence(format!(
            "`{}` is gone or changed",
            gone.trim()
        )));
    }
    if switches.is_empty() && added > 0 {
        switches.push(Switch::note("steps or settings were added"));
    }
    switches
}

/// What tools leave out, and how git treats files: nothing may be added that hides sources from a
/// check, or runs a program.
pub(super) fn compare_ignores(before: &str, after: &str) -> Vec<Switch> {
    static HARMLESS: Pattern = Pattern::new(
        r"\b(?:text|eol|binary|linguist-\w+|whitespace)\b|^/?(?:\*\*/)?(?:dist|build|coverage|node_modules|target|out|vendor|\.venv)/?",
    );
    let old: HashSet<&str> = content(before).map(|(_, line)| line).collect();
    let is_harmless = |line: &str| !line.contains("filter=") && HARMLESS.is_match(line);
    let added = content(after).filter(|(_, line)| !old.contains(line) && !is_harmless(line));
    added
        .map(|(number, line)| {
            Switch::offence(format!(
                "`{}` was added: what it names is looked at less",
                line.trim()
            ))
            .at(number)
        })
        .collect()
}
