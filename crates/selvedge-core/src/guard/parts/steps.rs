//! Files that are lists of steps or switches, one a line (CI, Taskfile, lint configuration in
//! YAML or XML): what stood there must still stand there, in its order; what is added must not
//! make failures count for nothing.

use std::collections::HashSet;

use super::super::diff::diff;
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

/// Which version of a shared hook runs: another one is an update, none is none.
static PIN: Pattern = Pattern::new(r"^\s*rev\s*:\s*\S");

/// A step that checks something, whatever else the file does.
pub(super) fn is_check(line: &str) -> bool {
    static CHECK: Pattern = Pattern::new(concat!(
        r"(?i)\b(?:(?:\w+[_-])?tests?|unittests?|pytest|jest|vitest|mocha|nextest|tox|nox|rspec|phpunit|e?lint\w*|clippy|ruff",
        r"|mypy|flake8|tsc|check|verify|coverage|audit|vet|staticcheck|rubocop|fail-fast)\b",
    ));
    static NAME: Pattern = Pattern::new(r"^\s*-?\s*(?:name|id|needs|key|path|if|uses)\s*:");
    CHECK.is_match(line) && !NAME.is_match(line)
}

/// Comments and blank lines are nobody's business.
fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("//")
}

/// The lines of content, with their numbers.
fn content(text: &str) -> Vec<(u32, &str)> {
    let lines = (1_u32..).zip(text.lines().map(str::trim_end));
    lines
        .filter(|(_, line)| is_content(line.trim_start()))
        .collect()
}

fn lines<'a>(content: &[(u32, &'a str)]) -> Vec<&'a str> {
    content.iter().map(|(_, line)| *line).collect()
}

/// A line that is gone is an offence where it `matters`; an added one where it makes failures count
/// for nothing.
pub(super) fn compare(before: &str, after: &str, matters: fn(&str) -> bool) -> Vec<Switch> {
    let (old, new) = (content(before), content(after));
    let (added, removed) = diff(&lines(&old), &lines(&new));
    let mut switches = Vec::new();
    for (number, line) in added.iter().filter_map(|&index| new.get(index)) {
        let looks_away = !old.is_empty() && LOOKS_AWAY.is_match(line);
        let ignores =
            IGNORES_FAILURE.is_match(line) && (old.is_empty() || matters(line) || is_setting(line));
        if looks_away || ignores {
            let what = format!("`{}` was added: failures would not count", line.trim());
            switches.push(Switch::offence(what).at(*number));
        }
    }
    let pins = |indices: &[usize], content: &[(u32, &str)]| {
        let lines = indices.iter().filter_map(|&index| content.get(index));
        lines.filter(|(_, line)| PIN.is_match(line)).count()
    };
    let bumped = pins(&added, &new) >= pins(&removed, &old);
    let mut gone = removed.iter().filter_map(|&index| old.get(index));
    if let Some((_, line)) = gone.find(|(_, line)| matters(line) && !(bumped && PIN.is_match(line)))
    {
        switches.push(Switch::offence(format!(
            "`{}` is gone or changed",
            line.trim()
        )));
    }
    if switches.is_empty() && !(added.is_empty() && removed.is_empty()) {
        switches.push(Switch::note("steps or settings were changed"));
    }
    switches
}

/// `continue-on-error: true` and the like, which are about a step and no command themselves.
fn is_setting(line: &str) -> bool {
    !line.contains("||") && !line.contains(';')
}

/// What tools leave out, and how git treats files: nothing may be added that hides sources from a
/// check, or runs a program.
pub(super) fn compare_ignores(before: &str, after: &str) -> Vec<Switch> {
    static HARMLESS: Pattern = Pattern::new(
        r"\b(?:text|eol|binary|linguist-\w+|whitespace)\b|^/?(?:\*\*/)?(?:dist|build|coverage|node_modules|target|out|vendor|\.venv)/?",
    );
    let old: HashSet<&str> = lines(&content(before)).into_iter().collect();
    let is_harmless = |line: &str| !line.contains("filter=") && HARMLESS.is_match(line);
    let new = content(after);
    let added = new
        .iter()
        .filter(|(_, line)| !old.contains(line) && !is_harmless(line));
    added
        .map(|(number, line)| {
            Switch::offence(format!(
                "`{}` was added: what it names is looked at less",
                line.trim()
            ))
            .at(*number)
        })
        .collect()
}
