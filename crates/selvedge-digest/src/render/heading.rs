//! The first line of a digest, with the command's status, and the last line, with what was cut.
//!
//! Only the exit decides the status. The heading also mentions failures that a successful command reported,
//! and counts that do not agree with its exit.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::budget::DigestBudget;
use crate::digester::CommandStatus;

/// One line for a command that succeeded.
pub(super) fn success_heading(analysis: &Analysis) -> String {
    let mut line = match &analysis.tests {
        Some(tests) => format!("ok: exit 0, {} passed", count_phrase(tests.passed, "test")),
        None => format!(
            "ok: exit 0, {} of output",
            count_phrase(analysis.lines, "line")
        ),
    };
    if let Some(tests) = analysis.tests.as_ref().filter(|tests| tests.skipped > 0) {
        let _ = write!(line, ", {} skipped", tests.skipped);
    }
    let failed = analysis.tests.as_ref().map_or(0, |tests| tests.failed);
    if failed > 0 {
        let _ = write!(line, "; the output shows {failed} that failed");
    }
    if analysis.failures_total > 0 && analysis.warnings_only {
        let _ = write!(
            line,
            ", {}",
            count_phrase(analysis.failures_total, "warning")
        );
    }
    line
}

/// The heading for failures that a successful command reported.
fn reported_heading(analysis: &Analysis) -> String {
    let lines = count_phrase(analysis.lines, "line");
    match analysis.failures_total {
        0 if analysis.salient_count > 0 => format!(
            "exit 0, {} of {lines} of output may report problems",
            analysis.salient_count
        ),
        0 => format!("exit 0, an XML document of {lines} in an unknown format"),
        total if analysis.warnings_only => {
            format!(
                "exit 0, {} in {lines} of output",
                count_phrase(total, "warning")
            )
        }
        total => format!(
            "exit 0, {} in {lines} of output",
            count_phrase(total, "reported problem")
        ),
    }
}

/// The noun for the kind of the records.
fn record_noun(analysis: &Analysis) -> &'static str {
    if analysis.warnings_only {
        "warning"
    } else {
        "failure"
    }
}

fn count_phrase(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// One line: the status, and the numbers of failures and tests.
pub(super) fn failure_heading(analysis: &Analysis) -> String {
    if analysis.exit.is_success() {
        return reported_heading(analysis);
    }
    if is_undecided(analysis) {
        return undecided_heading(analysis);
    }
    let mut line = status(analysis.exit, false);
    let total = analysis.failures_total;
    if total > 0 {
        let _ = write!(line, ": {}", count_phrase(total, record_noun(analysis)));
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

/// Whether neither the exit nor the log shows that the command failed. Nothing shows that it passed, either.
pub(super) fn is_undecided(analysis: &Analysis) -> bool {
    let failed = analysis.tests.as_ref().map_or(0, |tests| tests.failed);
    let is_failure = analysis.failures_total > 0 && !analysis.warnings_only;
    analysis.exit == CommandStatus::Unknown && failed == 0 && !is_failure
}

/// The heading for a log without failures if the exit is not known.
fn undecided_heading(analysis: &Analysis) -> String {
    let mut line = format!("{}: ", status(analysis.exit, true));
    if let Some(tests) = &analysis.tests {
        let _ = write!(line, "{} passed, ", count_phrase(tests.passed, "test"));
        if tests.skipped > 0 {
            let _ = write!(line, "{} skipped, ", tests.skipped);
        }
    }
    if analysis.failures_total > 0 {
        let _ = write!(
            line,
            "{}, ",
            count_phrase(analysis.failures_total, "warning")
        );
    }
    line.push_str("no failure found");
    for note in &analysis.notes {
        let _ = write!(line, "; {note}");
    }
    line
}

/// The status of the command; only the exit decides it.
pub(super) fn status(exit: CommandStatus, is_undecided: bool) -> String {
    match exit {
        CommandStatus::Unknown if is_undecided => "exit code unknown".to_owned(),
        CommandStatus::Code(code) => format!("FAILED (exit {code})"),
        CommandStatus::Signal(signal) => format!("FAILED (ended by signal {signal})"),
        CommandStatus::TimedOut => "FAILED (timed out)".to_owned(),
        CommandStatus::Unknown => "FAILED".to_owned(),
    }
}

/// The notice of what the digest omits, and where the full output is.
pub(super) fn truncation_notice(
    analysis: &Analysis,
    budget: DigestBudget<'_>,
    shown: u64,
    lines: u64,
) -> String {
    let mut line = String::from("[cut:");
    if analysis.failures_total > 0 {
        let (total, thing) = (analysis.failures_total, record_noun(analysis));
        let _ = match total {
            1 if shown == 1 => write!(line, " the only {thing}"),
            _ if shown == total => write!(line, " all {total} {thing}s"),
            _ => write!(line, " {shown} of {total} {thing}s"),
        };
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
