//! Lines that a shell, a build tool or a CI runner writes between commands: the beginning of a command, and
//! its end with a failure. The failure most likely is in the output of the command before the first failed
//! end.

use crate::line::{CleanLine, LineSignals};
use crate::pattern::LinePattern;

/// The meaning of a line for the commands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandBoundary {
    /// A command begins.
    Begin,
    /// The command before this line failed.
    Failed,
    /// The command before this line reports success, so its output did not cause the failure.
    Passed,
}

/// The command boundary that `line` marks, if any.
#[inline]
pub(crate) fn command_boundary(line: &CleanLine<'_>) -> Option<CommandBoundary> {
    // A fast check: this runs for every line, and few match.
    let known = match line.text.as_bytes() {
        [b'$' | b'+', b' ', ..] => Some(CommandBoundary::Begin),
        [b'=', b'=', ..]
        | [b'#', b'#', ..]
        | [b'[', b'c' | b'I', ..]
        | [b'O', b'K', ..]
        | [b'B', b'U', ..]
        | [b'T', b'h' | b'e', ..]
        | [b't', b'e', b's', b't', b' ', b'r', ..] => begin_or_success(line.text),
        _ => None,
    };
    let candidate = line.signals.intersects(
        LineSignals::ERROR
            .with(LineSignals::FAIL)
            .with(LineSignals::EXIT),
    );
    known.or_else(|| (candidate && reports_failure(line.text)).then_some(CommandBoundary::Failed))
}

/// Whether a command begins, or ends with success.
fn begin_or_success(text: &str) -> Option<CommandBoundary> {
    let begins = text.starts_with("##[group]Run")
        || text.starts_with("[command]")
        || text.starts_with("==") && text.contains(" test session starts ");
    if begins {
        return Some(CommandBoundary::Begin);
    }
    reports_success(text).then_some(CommandBoundary::Passed)
}

/// Whether a test runner or a build tool reports success.
fn reports_success(text: &str) -> bool {
    let all_passed = || {
        text.contains(" passed") && ![" failed", " error"].iter().any(|word| text.contains(word))
    };
    match text.as_bytes() {
        [b'=', b'=', ..] => all_passed(),
        [b't', ..] => text.starts_with("test result: ok."),
        [b'O', b'K'] | [b'O', b'K', b' ', b'(', ..] => true,
        [b'B', ..] => text.starts_with("BUILD SUCCESS"),
        [b'[', ..] => text.starts_with("[INFO] BUILD SUCCESS"),
        [b'T', b'h', ..] => text.starts_with("The command ") && text.ends_with(" exited with 0."),
        [b'T', ..] => {
            text.starts_with("Tests run: ") && text.contains("Failures: 0, Errors: 0")
                || text.starts_with("Tests: ") && all_passed()
        }
        _ => false,
    }
}

/// Whether the line reports that the command before it failed.
fn reports_failure(text: &str) -> bool {
    // Most lines that mention an error begin differently, and have no exit code.
    let may = matches!(
        text.as_bytes(),
        [
            b'T' | b'#' | b'E' | b'g' | b'm' | b'n' | b'J' | b'B' | b'F' | b'[' | b'r',
            ..
        ]
    ) || text.starts_with("error: ")
        || text.starts_with("error C")
        || ["code", "status", "ELIFECYCLE"]
            .iter()
            .any(|word| text.contains(word));
    may && text.len() < 400 && FAILED.is_match(text)
}

/// Whether the line is a marker of a CI service: fold, group or timestamp.
pub(super) fn is_marker(text: &str) -> bool {
    const STARTS: [&str; 6] = [
        "travis_fold:",
        "travis_time:",
        "section_start:",
        "section_end:",
        "##[endgroup]",
        "##[debug]",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

static FAILED: LinePattern = LinePattern::new(concat!(
    r#"^The command .* (failed and )?exited with [1-9]\d*"#,
    r"|^(##\[error\]|Error: )Process completed with exit code [1-9]",
    r"|^(g|mingw32-)?make(\[\d+\])?: \*\*\* .*(Error \d+|failed)",
    r"|^npm (ERR!|error) (code|errno|Test failed)",
    r"|^error Command failed with (exit code|signal)",
    r"|ELIFECYCLE",
    r"|^(ERROR: )?Job failed(:|$)",
    r"|^Build step .* marked build as failure",
    r"|^(BUILD FAILED|FAILURE: Build failed|Finished: FAILURE)",
    r"|^\[ERROR\] Failed to execute goal",
    r"|^rake aborted!",
    r"|(exited|returned|failed|terminated|completed|finished)( \w+)? (with )?((a )?non-?zero )?(exit |error |status |return )*(code|status)[: ]+[1-9]",
    r"|^error: (could not compile|test failed)",
    r"|^ninja: build stopped",
));
