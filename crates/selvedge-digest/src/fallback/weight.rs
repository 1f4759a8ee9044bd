//! How much a single line indicates a failure.

use crate::line::{CleanLine, LineSignals};
use crate::pattern::LinePattern;

/// The weight of a line that definitely reports an error.
pub(crate) const CERTAIN_WEIGHT: u32 = 10;

/// The weight of a line: from 0 to slightly above [`CERTAIN_WEIGHT`].
pub(crate) fn weight(line: &CleanLine<'_>) -> u32 {
    if is_chatter(line.text) {
        return 0;
    }
    let placed = line
        .signals
        .intersects(LineSignals::LOCATION)
        .then(|| message(line.text))
        .flatten();
    match placed {
        // A file name may contain any word; only the message about the place counts.
        Some(message) => {
            let score = weigh_words(message, LineSignals::scan(message));
            let error = score >= 6 && !is_warning(line.text);
            if error {
                score + 2
            } else {
                LOCATED_MESSAGE_WEIGHT
            }
        }
        None => weigh_words(line.text, line.signals),
    }
}

/// Weight of a linter's line, which may have no salient word, only a place and a message.
const LOCATED_MESSAGE_WEIGHT: u32 = 4;

/// The weight of a text's words.
fn weigh_words(text: &str, signals: LineSignals) -> u32 {
    if !signals.intersects(LineSignals::ANY_FAILURE) {
        return 0;
    }
    if DEFINITE.is_match(text) {
        return CERTAIN_WEIGHT + 4;
    }
    let weight = if STRONG.is_match(text) {
        CERTAIN_WEIGHT
    } else if signals.intersects(LineSignals::CROSS.with(LineSignals::FATAL)) {
        8
    } else if signals.intersects(
        LineSignals::ERROR
            .with(LineSignals::FAIL)
            .with(LineSignals::EXCEPTION),
    ) {
        if IN_NAME.is_match(text) { 3 } else { 6 }
    } else if signals.intersects(LineSignals::PROBLEM) {
        5
    } else if signals.intersects(LineSignals::WARNING) {
        3
    } else {
        4
    };
    let denied = signals.intersects(
        LineSignals::ERROR
            .with(LineSignals::FAIL)
            .with(LineSignals::WARNING),
    ) && DENIAL.is_match(text);
    if denied {
        return weight / 5;
    }
    let is_passed = signals.intersects(LineSignals::TICK)
        || PASSED.is_match(text)
        || !signals.intersects(LineSignals::ASSERT) && PASSED_NAME.is_match(text);
    if is_passed {
        return 0;
    }
    let named = !signals.intersects(LineSignals::CROSS) && TEST_NAME.is_match(text);
    if named || is_code(text) || LOGGED.is_match(&text[..text.floor_char_boundary(60)]) {
        weight / 3
    } else if signals.intersects(LineSignals::WARNING) && !signals.intersects(LineSignals::ERROR) {
        weight.min(4)
    } else {
        weight
    }
}

/// Whether the line reports a test that passed: by a check mark, or as a test point of TAP.
pub(super) fn is_passed_test(line: &CleanLine<'_>) -> bool {
    let body = line.body();
    let is_marked = || body.starts_with(['✓', '✔']);
    let point = body.strip_prefix("ok ");
    let is_point = point.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_point || line.signals.intersects(LineSignals::TICK) && is_marked()
}

/// The message about a place in a file, if the line begins with a place.
pub(super) fn message(text: &str) -> Option<&str> {
    let placed = (text.len() < 500).then(|| PLACED.find(text)).flatten()?;
    let rest = &text[placed.end()..];
    // If the place comes last, the message is before it.
    Some(if rest.is_empty() { text } else { rest })
}

/// Whether the line begins with a warning label.
fn is_warning(text: &str) -> bool {
    let body = text.trim_start().trim_start_matches('[');
    ["warn", "Warn", "WARN"]
        .iter()
        .any(|start| body.starts_with(start))
}

/// Whether the line is source code, which mentions errors without reporting one.
fn is_code(text: &str) -> bool {
    let end = text.trim_end();
    end.ends_with([';', '{', '}']) || text.trim_start().starts_with("* ")
}

/// Lines of package managers and compilers that name packages, files and options.
pub(super) fn is_chatter(text: &str) -> bool {
    const STARTS: [&str; 26] = [
        "Get:",
        "* [new ",
        "Updating files:",
        "SKIPPED",
        "SKIP:",
        "Unpacking ",
        "Setting up ",
        "Preparing to unpack ",
        "Selecting previously ",
        "Downloading",
        "Downloaded",
        "Collecting ",
        "Installing ",
        "Fetching ",
        "Using ",
        "Requirement already",
        "Receiving objects",
        "Resolving deltas",
        "remote: ",
        "inflating: ",
        "Compiling ",
        "Building ",
        "Progress ",
        "creating ",
        "Successfully installed",
        "adding ",
    ];
    let body = text.trim_start().trim_start_matches("[INFO] ");
    STARTS.iter().any(|start| body.starts_with(start))
        || ((body.contains(" -c ") || body.contains(" -o "))
            && body.contains(" -")
            && COMPILER.is_match(body))
}

static COMPILER: LinePattern =
    LinePattern::new(r"^(libtool: |/\S+/)?(\S*(gcc|g\+\+|clang|clang\+\+|cc|c\+\+|CC|CXX|ld|ar)) ");

static STRONG: LinePattern = LinePattern::new(concat!(
    r"(?:^|[\s\[(>:'|])(?:(?i:fatal|internal compiler|syntax|compile|compilation|runtime|build|type|parse) )?(?:(?i:error|fatal|exception|failure)|panic)s?(?:\[\w+\]|\(s\)|\s[A-Z]+\d+)?\s?[:\]!](?:\s|$)",
    r"|\b[A-Z]\w*(?:Error|Exception|Failure|Fault|Expired)\b",
    r"|\bTraceback \(most recent call last\)",
    r"|panicked at",
    r"|^(?:E  |FAIL|FAILED|ERROR|FAILURE|ERROR!|FAIL:|not ok)(?:\s|$|:)",
    r"|\bFAILED\b",
    r"|\bSegmentation fault|core dumped|^Killed|Aborted\b",
    r"|^\s*(?:×|✗|✘|✖|✕) ",
    r"|--- FAIL",
    r"|: (?:command not found|No such file or directory|Permission denied|cannot )",
    r"|undefined reference|Could not resolve|Cannot find",
    r"|^\s*\d+\) ",
));

/// Failure lines of test harnesses in machine-readable form.
static DEFINITE: LinePattern = LinePattern::new(
    r"\bTEST-UNEXPECTED-|\bPROCESS-CRASH\b|UNEXPECTED-(?:FAIL|ERROR|TIMEOUT|CRASH)",
);

/// A logger's line at a level below warning.
static LOGGED: LinePattern =
    LinePattern::new(r"(?:^|[\s\[(|])(?:INFO|DEBUG|TRACE|info|debug|trace)\b\s*(?:[-:|)\]]|\s\w)");

/// The name of a test that expects an error.
static TEST_NAME: LinePattern = LinePattern::new(concat!(
    r"\bshould (?:fail|throw|raise|error|reject|not|warn|return|abort|report|emit)\b",
    r"|\b(?:throws|fails|raises|rejects|errors) (?:on|when|if|for|with|to|an?|the)\b",
));

static DENIAL: LinePattern = LinePattern::new(concat!(
    r"(?i)\b(?:0|no|zero|without|any|ignor\w+|allow\w*)\s+(?:compile\s+|compilation\s+)?(?:errors?|failures?|failed|fail|failing|warnings?)\b",
    r"|\b(?:errors?|failures?|failed|fail|warnings?)\b\s*[:=]\s*(?:0\b|false|none|null|no\b)",
));

/// A passed test, whose name may contain any word.
static PASSED: LinePattern = LinePattern::new(concat!(
    r"\bPASS(?:ED)?\b|SUCCESS\b|\[ *OK *\]",
    r"|(?:\.\.|…)\s*(?:ok|OK)(?:\s+\(?[\d.]+ ?[mµn]?s\)?)?$|\.\.\s+Passed\s+[\d.]+ sec$",
    r"|^\s*(?:ok |√ |--- PASS|\(pass\) |Start +\d+: )",
    r"|^\s*Passed \S.* \[[<\d. ]+ ?m?s\]$|^\s*\* (?:test|doctest|property) .*\([\d.]+ms\)",
    r"|\((?:OK|ok|passed)\)$|\d s = \.$",
));

/// The name of a passed test; `Expected status: OK` looks alike.
static PASSED_NAME: LinePattern = LinePattern::new(r"^[^:]+: (?:OK|ok|passed)$");

/// The word occurs only as part of a path, an option or an identifier.
static IN_NAME: LinePattern = LinePattern::new(
    r"(?i)^(?:[^\s]*\s)*?[^\s]*(?:[\w./-](?:error|fail|exception)|(?:error|fail(?:ure)?|exception)s?(?:[/_-]|\.\w|\(|::))",
);

static PLACED: LinePattern = LinePattern::new(concat!(
    r#"^\s*(?:\[\w+\]\s+|File "?|at |--> |in )?"?(?:[A-Za-z]:)?[\w@~./\\+-]*\.?[A-Za-z]\w*"?(?::\d+(?::\d+)?:?\s|\(\d+(?:[,:]\d+)?\)\s?:|, line \d+)"#,
    // The kind of problem comes first, or the place is in brackets, or it comes last.
    r#"|^[A-Z][^,:]{0,40}: [^,]{0,200}\.\w+"?, line \d+: "#,
    r"|^\s*\[[\w@~./\\+-]+\.\w+:\d+(?::\d+)?\]\s",
    r"|^[A-Z]+\d+: .*[\w/]\.\w+:\d+$",
));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::CaptureOptions;

    #[test]
    fn passed_test_with_a_word_of_failure_in_its_name_weighs_nothing() {
        let capture = CaptureOptions {
            texts: true,
            heading: false,
        };
        let weigh = |text| {
            let line = CleanLine::new(1, text, "", LineSignals::scan(text), capture);
            weight(&line)
        };
        let passed = [
            "    ok 1 - reports error: x",
            "    --- PASS: TestError/fatal_error (0.00s)",
            "error test ... ok (3ms)",
            "reports error: fatal ... ok (12ms)",
            "(pass) cart > error [0.20ms]",
            "t/error.t .. ok",
            "t/error.t ......... ok     12 ms",
            "[OK]          error handling          0   reports an error.",
            "√ returns error",
            "1/3 Test #1: error_test .......................   Passed    0.01 sec",
            "      Start  1: error_test",
            "  Passed Shop.Tests.ErrorTest.Fails [1 ms]",
            "  * test error: it fails (0.1ms)",
            "TestCart#test_error = 0.00 s = .",
            "test_error.py: passed",
            "  error when the cart is empty: OK",
        ];
        for text in passed {
            assert_eq!(weigh(text), 0, "{text}");
        }
        let failed = [
            "error: unexpected status: OK",
            "Expected status: OK",
            "Passed arguments are invalid: error",
            "Error: 3 of 5 tests passed",
            "t/error.t .. Failed 1/2 subtests",
        ];
        for text in failed {
            assert!(weigh(text) > 0, "{text}");
        }
    }
}
