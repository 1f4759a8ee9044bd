//! Placeholders for values that differ from run to run, so that snapshots contain only what matters.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Patterns in the order of application: longer forms before their parts.
const PATTERNS: [(&str, &str); 8] = [
    (
        r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "[ID]",
    ),
    (
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?",
        "[TIME]",
    ),
    (r"(127\.0\.0\.1|localhost|\[::1\]):\d+", "$1:[PORT]"),
    (r"\b([0-9a-f]{64}|[0-9a-f]{40})\b", "[HASH]"),
    (r#"("\w*(?:_ms|_millis|duration)"\s*:\s*)[0-9.]+"#, "$1[MS]"),
    (r"\b(\d+h ?)?\d+m ?\d+(\.\d+)?s\b", "[DURATION]"),
    (
        r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|sec|secs|seconds?)\b",
        "[DURATION]",
    ),
    (
        r"\b\d+(\.\d+)? ?(m|min|mins|minutes?|h|hours?) ago\b",
        "[DURATION] ago",
    ),
];

static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compile = |(pattern, placeholder)| {
        (
            Regex::new(pattern).expect("a pattern of the table above"),
            placeholder,
        )
    };
    PATTERNS.into_iter().map(compile).collect()
});

pub(super) fn normalise(text: &str, root: &Path, binary: &Path) -> String {
    let mut text = text.replace(&*binary.to_string_lossy(), "[SELVEDGE]");
    for (directory, placeholder) in [("work", "[WORK]"), ("home", "[HOME]"), ("state", "[STATE]")] {
        text = text.replace(&*root.join(directory).to_string_lossy(), placeholder);
    }
    text = text.replace(&*root.to_string_lossy(), "[ENV]");
    for (rule, placeholder) in RULES.iter() {
        text = rule.replace_all(&text, *placeholder).into_owned();
    }
    text
}
