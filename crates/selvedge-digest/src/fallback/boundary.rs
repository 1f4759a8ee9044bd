//! Lines that a shell, a build tool or a CI runner writes between commands: where a command
//! begins, and where one ended badly. The output of the command before the first bad end is the
//! strongest prior there is for where the failure stands.

use std::sync::LazyLock;

use regex::Regex;

use crate::line::{Line, Signals};
use crate::pattern::pattern;

/// What a line says of the commands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// A command begins here.
    Begin,
    /// The command before this line ended with a failure.
    Failed,
}

/// What `line` says of the commands around it.
pub(crate) fn boundary(line: &Line<'_>) -> Option<Boundary> {
    let text = line.text;
    let begins = match text.as_bytes() {
        [b'$' | b'+', b' ', ..] => true,
        [b'#' | b'[', b'#' | b'c', ..] => {
            text.starts_with("##[group]Run") || text.starts_with("[command]")
        }
        _ => false,
    };
    if begins {
        return Some(Boundary::Begin);
    }
    let candidate = line
        .signals
        .intersects(Signals::ERROR.with(Signals::FAIL).with(Signals::EXIT));
    (candidate && text.len() < 400 && FAILED.is_match(text)).then_some(Boundary::Failed)
}

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
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
    ))
});
