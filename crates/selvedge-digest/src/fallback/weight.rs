//! How much a line, by itself, speaks of a failure.

use std::sync::LazyLock;

use regex::Regex;

use crate::line::{Line, Signals};
use crate::pattern::pattern;

/// The weight of a line that names an error for sure.
pub(crate) const SURE: u32 = 10;

/// From 0, nothing, to a little above [`SURE`].
pub(crate) fn weight(line: &Line<'_>) -> u32 {
    let signals = line.signals;
    if !signals.intersects(Signals::BAD) {
        return if signals.intersects(Signals::PLACE) {
            placed(line)
        } else {
            0
        };
    }
    let text = line.text;
    if is_chatter(text) {
        return 0;
    }
    if DEFINITE.is_match(text) {
        return SURE + 4;
    }
    let denied = signals.intersects(Signals::ERROR.with(Signals::FAIL).with(Signals::WARNING))
        && DENIAL.is_match(text);
    let mut weight = if STRONG.is_match(text) {
        SURE
    } else if signals.intersects(Signals::CROSS.with(Signals::FATAL)) {
        8
    } else if signals.intersects(Signals::ERROR.with(Signals::FAIL).with(Signals::EXCEPTION)) {
        if IN_NAME.is_match(text) { 3 } else { 6 }
    } else if signals.intersects(Signals::TROUBLE) {
        5
    } else if signals.intersects(Signals::WARNING) {
        3
    } else {
        4
    };
    if denied {
        return weight / 5;
    }
    if signals.intersects(Signals::TICK) || PASSED.is_match(text) {
        return 0;
    }
    if signals.intersects(Signals::WARNING) && !signals.intersects(Signals::ERROR) {
        weight = weight.min(4);
    }
    if signals.intersects(Signals::PLACE) {
        weight += placed(line) / 2;
    }
    if LOGGED.is_match(&text[..text.floor_char_boundary(60)]) {
        weight / 3
    } else {
        weight
    }
}

/// A linter's line may bear no word of trouble at all, only a place and a message.
fn placed(line: &Line<'_>) -> u32 {
    if line.text.len() < 500 && PLACED.is_match(line.text) && !is_chatter(line.text) {
        4
    } else {
        0
    }
}

/// Lines of package managers and compilers that name packages, files and options.
fn is_chatter(text: &str) -> bool {
    const STARTS: [&str; 22] = [
        "Get:",
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

static COMPILER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(libtool: |/\S+/)?(\S*(gcc|g\+\+|clang|clang\+\+|cc|c\+\+|CC|CXX|ld|ar)) ")
});

static STRONG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
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
    ))
});

/// What a harness says of a failure in words made for machines.
static DEFINITE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\bTEST-UNEXPECTED-|\bPROCESS-CRASH\b|UNEXPECTED-(?:FAIL|ERROR|TIMEOUT|CRASH)")
});

/// A logger's line at a level that means that all is well.
static LOGGED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:^|[\s\[(|])(?:INFO|DEBUG|TRACE|info|debug|trace)\b\s*(?:[-:|)\]]|\s\w)")
});

static DENIAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:0|no|zero|without|any|ignor\w+|allow\w*)\s+(?:compile\s+|compilation\s+)?(?:errors?|failures?|failed|fail|failing|warnings?)\b",
        r"|\b(?:errors?|failures?|failed|fail|warnings?)\b\s*[:=]\s*(?:0\b|false|none|null|no\b)",
    ))
});

static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:\.\.\.|…) ?ok$|\bPASS(?:ED)?\b|^ok |\[ +OK \]|SUCCESS\b|^--- PASS")
});

/// The word only as a part of a path, an option, an identifier.
static IN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:[^\s]*\s)*?[^\s]*(?:[\w./-](?:error|fail|exception)|(?:error|fail(?:ure)?|exception)s?(?:[/_-]|\.\w|\(|::))",
    )
});

static PLACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"^\s*(?:\[\w+\]\s+|File "?|at |--> |in )?"?(?:[A-Za-z]:)?[\w@~./\\+-]*\.?[A-Za-z]\w*"?(?::\d+(?::\d+)?:?\s|\(\d+(?:[,:]\d+)?\)\s?:|, line \d+)"#,
        // The sort of the problem comes first, or the place is in brackets, or it comes last.
        r#"|^[A-Z][^,:]{0,40}: [^,]{0,200}\.\w+"?, line \d+: "#,
        r"|^\s*\[[\w@~./\\+-]+\.\w+:\d+(?::\d+)?\]\s",
        r"|^[A-Z]+\d+: .*[\w/]\.\w+:\d+$",
    ))
});
