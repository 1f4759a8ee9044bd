//! Text after a `#` in TAP: directives, durations, totals, and remarks about a failure.

use crate::findings::FailureBuilder;
use crate::pattern::LinePattern;

/// Duration of a test, after its name.
static DURATION: LinePattern =
    LinePattern::new(r"\s(?:# time=[\d.]+m?s|(?:# )?in [\d.]+ ?m?s(?:ec)?)\s*$");

/// Splits a test's description into its name without the duration, and whether a directive excuses the test.
pub(super) fn parse_description(text: &str) -> (&str, bool) {
    let directive = text.match_indices('#').map(|(at, _)| at).find(|at| {
        let (before, after) = text.split_at(*at);
        let word = after.trim_start_matches('#').trim_start();
        let word = word.split(|c: char| !c.is_ascii_alphanumeric()).next();
        let word = word.unwrap_or_default().to_ascii_lowercase();
        let is_apart = before.is_empty() || before.ends_with(char::is_whitespace);
        is_apart && (word.starts_with("skip") || word == "todo")
    });
    let name = directive.map_or(text, |at| &text[..at]).trim();
    let name = DURATION.find(name).map_or(name, |it| &name[..it.start()]);
    (name, directive.is_some())
}

/// Closing totals of runners: `# tests 4`.
pub(super) fn is_total(comment: &str) -> bool {
    let mut words = comment.split_whitespace();
    let known = [
        "tests",
        "pass",
        "fail",
        "skip",
        "skipped",
        "todo",
        "suites",
        "cancelled",
    ];
    words.next().is_some_and(|word| known.contains(&word))
        && words
            .next()
            .is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_none()
}

/// bats' place of a failure: `(in test file a.bats, line 3)`, below the functions that were called.
static BATS_FRAME: LinePattern = LinePattern::new(
    r"^\(?(?:from function `[^']*' )?in (?P<test>test )?file (?P<file>.+), line (?P<line>\d+)[,)]$",
);

/// Perl's `#   at t/a.t line 3.`, the place that bats writes, or a word about the failure.
pub(super) fn apply_comment(draft: &mut FailureBuilder, comment: &str) {
    if let Some(frame) = BATS_FRAME.captures(comment) {
        if frame.has("test") {
            draft.locate(&frame);
        }
        return;
    }
    let place = comment
        .strip_prefix("at ")
        .and_then(|rest| rest.trim_end_matches('.').rsplit_once(" line "));
    match place {
        Some((file, line)) => draft.set_location(file, line.parse().ok(), None),
        None => draft.push_message(comment),
    }
}
