//! The first line of a digest, which says how it ended, and the last, which says what was cut.
//!
//! Only the exit decides how it ended. What a successful command reported all the same is said in
//! its heading, and so are counts that do not agree with it.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::digester::Exit;

/// One line for a command that succeeded.
pub(super) fn passed(analysis: &Analysis) -> String {
    let mut line = match &analysis.tests {
        Some(tests) => format!("ok: exit 0, {} passed", counted(tests.passed, "test")),
        None => format!("ok: exit 0, {} of output", counted(analysis.lines, "line")),
    };
    if let Some(tests) = analysis.tests.as_ref().filter(|tests| tests.skipped > 0) {
        let _ = write!(line, ", {} skipped", tests.skipped);
    }
    let failed = analysis.tests.as_ref().map_or(0, |tests| tests.failed);
    if failed > 0 {
        let _ = write!(line, "; the output tells of {failed} that failed");
    }
    if analysis.failures_total > 0 && analysis.warnings_only {
        let _ = write!(line, ", {}", counted(analysis.failures_total, "warning"));
    }
    line
}

/// The heading over what a command reported although it succeeded.
fn reported(analysis: &Analysis) -> String {
    let lines = counted(analysis.lines, "line");
    match analysis.failures_total {
        0 if analysis.telling > 0 => format!(
            "exit 0, {} of {lines} of output may tell of trouble",
            analysis.telling
        ),
        0 => format!("exit 0, an XML document of {lines} that tells of nothing known"),
        total if analysis.warnings_only => {
            format!("exit 0, {} in {lines} of output", counted(total, "warning"))
        }
        total => format!(
            "exit 0, {} in {lines} of output",
            counted(total, "reported problem")
        ),
    }
}

/// What the records tell of.
fn thing(analysis: &Analysis) -> &'static str {
    if analysis.warnings_only {
        "warning"
    } else {
        "failure"
    }
}

fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// One line: how it ended, how many failures, how many tests.
pub(super) fn heading(analysis: &Analysis) -> String {
    if analysis.exit.is_success() {
        return reported(analysis);
    }
    let mut line = status(analysis.exit);
    let total = analysis.failures_total;
    if total > 0 {
        let _ = write!(line, ": {}", counted(total, thing(analysis)));
    }
    if let Some(tests) = &analysis.tests {
        let _ = write!(
            line,
            "; tests: {} failed, {} passed",
            tests.failed, tests.passed
        );
    }
    for note in &analysis.notes {
        let _ = write!(line, "; {note}");
    }
    line
}

/// How it ended; only the exit decides.
pub(super) fn status(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("FAILED (exit {code})"),
        Exit::Signal(signal) => format!("FAILED (ended by signal {signal})"),
        Exit::TimedOut => "FAILED (timed out)".to_owned(),
        Exit::Unknown => "FAILED".to_owned(),
    }
}

/// What the digest leaves out, and where the whole is.
pub(super) fn notice(analysis: &Analysis, budget: Budget<'_>, shown: u64, lines: u64) -> String {
    let mut line = String::from("[cut:");
    if analysis.failures_total > 0 {
        let (total, thing) = (analysis.failures_total, thing(analysis));
        let _ = write!(line, " {shown} of {total} {thing}s");
        if analysis.lines > 0 {
            let _ = write!(line, " and {lines} more");
        }
    } else {
        let _ = write!(line, " {lines}");
    }
    if analysis.lines > 0 {
        let _ = write!(line, " of {} lines", analysis.lines);
    }
    line.push_str(" shown");
    if let Some(place) = budget.full_output {
        let _ = write!(line, "; all: {place}");
    }
    line.push(']');
    line
}
