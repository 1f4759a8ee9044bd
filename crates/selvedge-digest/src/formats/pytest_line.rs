//! The lines of pytest that name tests or count them. The parameters in an id are free text: they may hold
//! brackets, spaces, `::`, ` - ` and the words for results.

use crate::findings::TestTotals;
use crate::noise::has_only_results;
use crate::pattern::LinePattern;

static TOTALS: LinePattern =
    LinePattern::new(r"^=*\s?(?:no tests ran|(?:\d+ (?:subtests )?[a-z]+(?:, )?)+) in [\d.]+s");
static COUNT: LinePattern = LinePattern::new(
    r"(\d+ (?:subtests )?|\b)(no tests ran|failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)\b",
);
static PROGRESS: LinePattern =
    LinePattern::new(r"\s+\[(?: *\d+%| *\d+/\d+)\]$|^\[gw\d+\] \[ *\d+%\] ");

static DURATION: LinePattern =
    LinePattern::new(r"^(?:\d+\.\d+s (?:call|setup|teardown) +\S|\(\d+ durations < )");

/// The lines between the title of a session and its first result, by their beginnings.
const SESSION_HEADERS: [&str; 15] = [
    "platform ",
    "cachedir: ",
    "metadata: ",
    "rootdir: ",
    "configfile: ",
    "testpaths: ",
    "plugins: ",
    "asyncio: ",
    "django: ",
    "hypothesis profile ",
    "Using --randomly-seed=",
    "created: ",
    "scheduling tests via ",
    "collecting ",
    "collected ",
];
/// The words for the result of a test.
const RESULTS: [&str; 6] = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
/// The words for a subtest that failed, in pytest 9 and in the plugin before it.
const SUBTESTS: [&str; 2] = ["SUBFAILED", "SUBFAIL"];

/// The counts of a closing line: `1 failed, 2 passed, 3 subtests passed in 0.12s`. Passed subtests do not
/// count as tests.
pub(super) fn parse_totals(text: &str) -> Option<TestTotals> {
    let is_candidate = text.ends_with(['s', '=', ')']) && text.contains(" in ");
    if !is_candidate || !TOTALS.is_match(text) {
        return None;
    }
    let mut totals = TestTotals::default();
    let mut any = false;
    for count in COUNT.captures_iter(text) {
        any = true;
        let number = count[1].trim_end().trim_end_matches(" subtests");
        let number: u64 = number.parse().unwrap_or(0);
        match (&count[2], count[1].ends_with("subtests ")) {
            ("failed" | "error" | "errors", _) => totals.failed += number,
            ("passed" | "xpassed", false) => totals.passed += number,
            ("skipped" | "xfailed", false) => totals.skipped += number,
            _ => {}
        }
    }
    any.then_some(totals)
}

/// A line of the header of a session.
pub(super) fn is_session_header(text: &str) -> bool {
    SESSION_HEADERS.iter().any(|start| text.starts_with(start)) || text.ends_with(" items]")
}

/// `slowest 10 durations`
pub(super) fn is_title_of_durations(title: &str) -> bool {
    title.starts_with("slowest ") && title.ends_with("durations")
}

/// A line below that title.
pub(super) fn is_duration(text: &str) -> bool {
    DURATION.is_match(text)
}

/// `tests/test_a.py ..F.     [ 97%]`
pub(super) fn is_results_of_file(text: &str) -> bool {
    text.split_once(' ')
        .is_some_and(|(file, results)| file.contains('.') && has_only_results(results.trim_start()))
}

/// A test and its result on a line of their own, as printed with `-v`.
pub(super) fn parse_result(text: &str) -> Option<(&str, &str)> {
    let may_have = text.ends_with(']') || text.starts_with("[gw");
    let progress = may_have.then(|| PROGRESS.find(text)).flatten();
    if let Some(progress) = progress.filter(|it| it.start() == 0) {
        let (word, id) = text[progress.end()..].split_once(' ')?;
        return (RESULTS.contains(&word) && is_id(id.trim_end())).then(|| (id.trim_end(), word));
    }
    let text = progress.map_or(text, |progress| &text[..progress.start()]);
    text.match_indices(' ').find_map(|(at, _)| {
        let (id, rest) = (&text[..at], &text[at + 1..]);
        let word = RESULTS.into_iter().find(|word| rest.starts_with(word))?;
        let reason = &rest[word.len()..];
        let ends = reason.is_empty() || reason.starts_with(" (") && reason.ends_with(')');
        (ends && is_id(id)).then_some((id, word))
    })
}

/// Whether this can be the id of a test: the bracket of its parameters is closed at its end.
fn is_id(text: &str) -> bool {
    text.split_once("::")
        .is_some_and(|(_, name)| is_closed(name))
}

fn is_closed(name: &str) -> bool {
    !name.contains('[') || name.ends_with(']')
}

/// The name of a test as it heads a section: without its file.
pub(super) fn short_name(id: &str) -> String {
    let name = id.split_once("::").map_or(id, |(_, name)| name);
    let (path, parameters) = name.split_at(name.find('[').unwrap_or(name.len()));
    path.replace("::", ".") + parameters
}

/// An entry of the summary.
pub(super) struct SummaryEntry<'a> {
    pub(super) id: String,
    /// The heading of the id's section.
    pub(super) short: String,
    pub(super) message: Option<&'a str>,
}

/// Reads the rest of a line `FAILED id - message` of the summary. Where more than one part of it can be the
/// id, it is the longest that heads a section, else the shortest.
pub(super) fn parse_failed_entry(
    rest: &str,
    heads_section: impl Fn(&str) -> bool,
) -> SummaryEntry<'_> {
    let splits = rest.match_indices(" - ");
    let splits = splits.map(|(at, mark)| (&rest[..at], Some(&rest[at + mark.len()..])));
    let whole = (rest.trim_end(), None);
    let mut can_be: Vec<_> = splits
        .chain([whole])
        .filter(|(id, _)| is_closed(id.split_once("::").map_or("", |(_, name)| name)))
        .map(|(id, message)| SummaryEntry {
            short: short_name(id.trim_end()),
            id: id.trim_end().to_owned(),
            message,
        })
        .collect();
    let known = can_be.iter().rposition(|named| heads_section(&named.short));
    if can_be.is_empty() {
        return SummaryEntry {
            short: short_name(whole.0),
            id: whole.0.to_owned(),
            message: None,
        };
    }
    can_be.swap_remove(known.unwrap_or(0))
}

/// Reads `SUBFAILED[message] (i=1) id - message`, or `[message] (i=1) SUBFAIL id - message` as the plugin
/// writes. The description of the subtest follows the id of its test.
pub(super) fn parse_subtest_entry<'a>(
    text: &'a str,
    heads_section: impl Fn(&str) -> bool,
) -> Option<SummaryEntry<'a>> {
    let name = |about: &str, rest: &'a str| {
        let about = about.trim();
        let title = |short: &str| format!("{short} {about}").trim_end().to_owned();
        let named = parse_failed_entry(rest, |short| heads_section(&title(short)));
        SummaryEntry {
            short: title(&named.short),
            id: title(&named.id),
            message: named.message,
        }
    };
    for word in SUBTESTS {
        if let Some((about, rest)) = text.split_once(&format!(" {word} ")) {
            return Some(name(about, rest));
        }
    }
    let rest = SUBTESTS.into_iter().find_map(|it| text.strip_prefix(it))?;
    let mut names = rest
        .match_indices(' ')
        .map(|(at, _)| (&rest[..at], &rest[at + 1..]))
        .filter(|(_, rest)| {
            let path = rest.split_once("::").map_or("", |(path, _)| path);
            !path.is_empty() && !path.starts_with(['[', '(', ' '])
        })
        .map(|(about, rest)| name(about, rest));
    let first = names.next()?;
    if heads_section(&first.short) {
        return Some(first);
    }
    Some(
        names
            .find(|named| heads_section(&named.short))
            .unwrap_or(first),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_totals_exclude_subtests() {
        let of = |text: &str| parse_totals(text).map(|it| (it.passed, it.failed, it.skipped));
        assert_eq!(
            of("731 passed, 19938 subtests passed in 3s"),
            Some((731, 0, 0))
        );
        let line = "=== 3 failed, 3 passed, 1 skipped, 6 subtests passed in 0.02s ===";
        assert_eq!(of(line), Some((3, 3, 1)));
        assert_eq!(of("1 passed, 2 subtests failed in 1s"), Some((1, 2, 0)));
        assert_eq!(
            of("4 passed, 2 subtests skipped, 1 retried in 1s"),
            Some((4, 0, 0))
        );
        assert_eq!(
            of("= 2 passed, 1 warning in 65.30s (0:01:05) ="),
            Some((2, 0, 0))
        );
        assert_eq!(of("no tests ran in 0.01s"), Some((0, 0, 0)));
        for other in ["3 tests passed in 2s", "12 files in 3s", "5 passed (3ms)"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn pytest_results_are_separated_from_parameters() {
        let cases = [
            ("a.py::t PASSED        [  9%]", Some(("a.py::t", "PASSED"))),
            (
                "my tests/a.py::t[a]b] FAILED [ 3/10]",
                Some(("my tests/a.py::t[a]b]", "FAILED")),
            ),
            (
                "a.py::t[c PASSED] SKIPPED (PASSED (no)) [100%]",
                Some(("a.py::t[c PASSED]", "SKIPPED")),
            ),
            (
                "a.py::t[d SKIPPED (why)] PASSED",
                Some(("a.py::t[d SKIPPED (why)]", "PASSED")),
            ),
            (
                "[gw0] [ 50%] PASSED a.py::t[a - b] ",
                Some(("a.py::t[a - b]", "PASSED")),
            ),
            ("a.py::t SUBPASSED[n - o]] (i=0)   [ 50%]", None),
            ("a.py::t SUBFAILED[n PASSED] (i=0)", None),
            ("a.py::t ", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_result(text), expected, "{text}");
        }
    }
}
