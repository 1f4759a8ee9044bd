//! Configuration that is a program (`jest.config.js`, `noxfile.py`) and set-up code that tests load
//! first: compared by its code, so that a comment or a blank line is no change.

use std::collections::BTreeMap;

use super::super::ChangedFile;
use super::super::mask::Views;
use super::super::pattern::Pattern;
use super::super::text::{Language, language};
use super::judge::Switch;

/// Settings that let a run without tests, or with failures, count as a success.
static SUCCEEDS: Pattern = Pattern::new(concat!(
    r"passWithNoTests['\x22]?\s*:\s*true|dangerouslyIgnoreUnhandledErrors|allowOnly['\x22]?\s*:\s*true",
    r"|testNamePattern|\btestRunner\b|\brunner['\x22]?\s*:|globalSetup|globalTeardown|process\.exit|\bos\._exit",
    r"|success_codes|ignore_outcome|grep(?:Invert)?['\x22]?\s*:|['\x22]off['\x22]",
));
static SELECTS: Pattern = Pattern::new(
    r"\b(testPathIgnorePatterns|modulePathIgnorePatterns|exclude|ignores|testIgnore|testMatch|testRegex|include|specPattern)['\x22]?\s*:\s*(\[[^\]]*\]|[^,\n}]*)",
);
static LITERAL: Pattern = Pattern::new(r#"['"`]([^'"`]*)['"`]"#);
/// Folders that nobody tests in.
static NO_TESTS_THERE: Pattern = Pattern::new(
    r"node_modules|dist|build|coverage|\.next|\.git|vendor|e2e|cypress|playwright|out\b|fixtures|\.cache|target|public|generated|examples",
);
/// A pattern that still finds tests by their kind of name.
static BY_KIND: Pattern = Pattern::new(r"\*[^/]*\??$|/$|\.\w+\$$|\)\$$");

/// A program that configures a runner or a linter.
pub(super) fn compare_config(change: &ChangedFile<'_>, before: &str, after: &str) -> Vec<Switch> {
    let (old, new) = (code(change.path, before), code(change.path, after));
    if change.after.is_none() {
        return vec![Switch::offence("the configuration was deleted")];
    }
    if change.before.is_some() {
        let mut rest = old.iter().map(|(_, line)| line).peekable();
        let differs = |(_, line): &&(u32, String)| rest.next() != Some(line);
        let found = new.iter().find(differs);
        let what = |line: &str| format!("the configuration was changed: `{}`", line.trim());
        return match found {
            Some((number, line)) => vec![Switch::offence(what(line)).at(*number)],
            None if rest.peek().is_some() => vec![Switch::offence("settings are gone")],
            None => Vec::new(),
        };
    }
    let mut switches: Vec<Switch> = new
        .iter()
        .filter(|(_, line)| SUCCEEDS.is_match(line))
        .map(|(number, line)| {
            let what = format!("new configuration runs less: `{}`", line.trim());
            Switch::offence(what).at(*number)
        })
        .collect();
    let whole: Vec<&str> = new.iter().map(|(_, line)| line.as_str()).collect();
    switches.extend(narrowed(&whole.join("\n")));
    if switches.is_empty() {
        switches.push(Switch::note("configuration of a check is new"));
    }
    switches
}

/// Patterns that leave out single tests instead of folders, or find single tests only.
fn narrowed(text: &str) -> Vec<Switch> {
    let mut switches = Vec::new();
    let all = SELECTS
        .regex()
        .into_iter()
        .flat_map(|regex| regex.captures_iter(text));
    for found in all {
        let (Some(key), Some(values)) = (found.get(1), found.get(2)) else {
            continue;
        };
        let finds = matches!(
            key.as_str(),
            "testMatch" | "testRegex" | "include" | "specPattern"
        );
        let literals = LITERAL
            .regex()
            .into_iter()
            .flat_map(|regex| regex.captures_iter(values.as_str()));
        for literal in literals.filter_map(|found| found.get(1)) {
            let literal = literal.as_str();
            let harmless = if finds {
                BY_KIND.is_match(literal) || literal.contains('*') || !literal.contains('.')
            } else {
                NO_TESTS_THERE.is_match(literal) && !literal.contains(".test.")
            };
            if !harmless {
                let what = format!(
                    "new configuration leaves tests out: `{}: {literal}`",
                    key.as_str()
                );
                switches.push(Switch::offence(what));
            }
        }
    }
    switches
}

/// Words by which set-up code reaches into the runner.
static REACHES_IN: Pattern = Pattern::new(concat!(
    r"process\.exit|global(?:This)?\.(?:expect|it|test|describe)\s*=|jest\.retryTimes|\bexpect\s*=[^=]",
    r"|filter_run|exclusion_filter|around\s*\(?:each|\bat_exit|\bexit!?\s*(?:\(|\b0|$)|RSpec::Core|class\s+RSpec",
    r"|ExUnit\.(?:start|configure|after_suite)|System\.(?:halt|at_exit|stop)|register_shutdown_function",
    r"|\bskip\b|\bpending\b|passWithNoTests|testNamePattern|\bexclude\s*:|\binclude\s*:|allowOnly",
    r"|prototype\.\w+\s*=|reporters\s*:|@exit|Kernel\.exit|setupFiles",
));

/// Set-up code: free, but for what reaches into the runner.
pub(super) fn compare_setup(path: &str, before: &str, after: &str) -> Vec<Switch> {
    changed_lines(path, before, after, &REACHES_IN)
}

/// Lines of code that came or went, and match.
pub(super) fn changed_lines(path: &str, before: &str, after: &str, of: &Pattern) -> Vec<Switch> {
    let (old, new) = (code(path, before), code(path, after));
    let mut count: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, line) in &old {
        *count.entry(line.trim()).or_default() += 1;
    }
    let mut switches = Vec::new();
    for (number, line) in &new {
        let left = count.entry(line.trim()).or_default();
        *left -= 1;
        if *left < 0 && of.is_match(line) {
            let what = format!("`{}` was added", line.trim());
            switches.push(Switch::offence(what).at(*number));
        }
    }
    let gone = count
        .iter()
        .filter(|(line, left)| **left > 0 && of.is_match(line));
    switches.extend(gone.map(|(line, _)| Switch::offence(format!("`{line}` is gone"))));
    switches
}

/// Lines that hold code, without their comments.
fn code(path: &str, source: &str) -> Vec<(u32, String)> {
    let language = language(path).unwrap_or(Language::Shell);
    let lines = (1_u32..).zip(Views::of(language, source).text);
    lines
        .map(|(number, line)| (number, line.trim_end().to_owned()))
        .filter(|(_, line)| !line.trim().is_empty())
        .collect()
}
