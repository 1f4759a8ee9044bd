//! Labels of statuses and findings, one line each, for live output and for run details.

use crate::terminal::{one_line, style};
use selvedge_core::model::{
    CheckStatus, CrossedReport, CrossedResult, Evidence, ExcludedContent, Finding, FindingSeverity,
    Outcome, SessionStatus, TreeId,
};
use selvedge_core::run::Run;

pub(crate) fn format_guard_finding(finding: &Finding) -> String {
    let sign = match finding.strength {
        FindingSeverity::Violation => style::bad("⚠"),
        FindingSeverity::Strong => style::warning("⚠"),
        FindingSeverity::Weak => style::dim("·"),
    };
    let line = finding
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    let what = one_line(&format!("{}{line}: {}", finding.path, finding.what), 200);
    format!("  {sign} {what}")
}

/// Formats the result of the checks with the original tests.
pub(crate) fn format_cross_check(crossed: &CrossedReport) -> String {
    let sign = match crossed.result {
        CrossedResult::Passed => style::good("✓"),
        CrossedResult::StillFailing => style::bad("✗"),
        CrossedResult::Undecided | CrossedResult::TestsDoNotFit | CrossedResult::SharedFiles => {
            style::warning("?")
        }
    };
    format!(
        "  {sign} original tests: {}",
        one_line(&crossed.reason, 300)
    )
}

/// Describes what a verdict is based on.
pub(crate) fn evidence_label(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::MachineReport => "from the test runner's report",
        Evidence::Text => "from the test runner's output",
        Evidence::ExitCode => "from the exit code only",
        Evidence::Plugin => "from the plug-in's report",
        Evidence::Direct => "checked directly",
    }
}

/// A symbol for a check's status.
pub(crate) fn status_mark(status: CheckStatus) -> String {
    match status {
        CheckStatus::Pass => style::good("✓"),
        CheckStatus::Fail => style::bad("✗"),
        CheckStatus::Timeout => style::bad("⧖"),
        CheckStatus::Error => style::warning("!"),
        CheckStatus::Skip => style::dim("-"),
    }
}

/// Describes how a session ended.
pub(crate) fn session_label(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Success => "finished",
        SessionStatus::Failed => "failed",
        SessionStatus::Timeout => "timed out",
        SessionStatus::TurnLimit => "reached its turn limit",
        SessionStatus::Budget => "reached its budget",
        SessionStatus::CannotSatisfy => "reported that the task cannot be satisfied",
        SessionStatus::Infra => "could not run",
        SessionStatus::Cancelled => "was cancelled",
    }
}

/// The styled outcome of a run or a plan.
pub(crate) fn outcome_label(outcome: Outcome) -> String {
    let label = style::strong(outcome.as_str().replace('_', " "));
    match outcome {
        Outcome::Verified => style::good(label),
        Outcome::Unchecked | Outcome::Unchanged | Outcome::NeedsReview => style::warning(label),
        _ => style::bad(label),
    }
}

/// Names files that cannot be restored; printed before the agent begins.
pub(super) fn uncovered_notice(unkept: &ExcludedContent) -> String {
    let text = format!(
        "too large for snapshots, cannot be restored if the agent deletes them: {}",
        unkept.describe()
    );
    format!("{} {}", style::warning("note:"), one_line(&text, 400))
}

/// The command that restores a backup tree.
pub(crate) fn restore_command(run: &Run, tree: &TreeId) -> String {
    format!(
        "selvedge restore {} --tree {}",
        run.run_id.short(),
        tree.as_str()
    )
}
