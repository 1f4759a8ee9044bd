//! What statuses and findings are called, in one line each: the same words live and in the
//! story of a run.

use selvedge_core::guard::{Finding, FindingSeverity};
use selvedge_core::machine::Run;
use selvedge_core::model::{
    CheckStatus, CrossedReport, CrossedResult, Evidence, ExcludedContent, Outcome, SessionStatus,
    TreeId,
};

use super::{one_line, style};

/// What the guard noticed, in a line.
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

/// What the checks found with the original tests, in a line.
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

/// What a verdict rests on, in words.
pub(crate) fn evidence_label(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::MachineReport => "by the test runner's own report",
        Evidence::Text => "by what the test runner printed",
        Evidence::ExitCode => "by its exit code only",
        Evidence::Plugin => "by the plug-in's report",
        Evidence::Direct => "looked at directly",
    }
}

/// A sign for a check's status.
pub(crate) fn status_mark(status: CheckStatus) -> String {
    match status {
        CheckStatus::Pass => style::good("✓"),
        CheckStatus::Fail => style::bad("✗"),
        CheckStatus::Timeout => style::bad("⧖"),
        CheckStatus::Error => style::warning("!"),
        CheckStatus::Skip => style::dim("-"),
    }
}

/// How a session ended, in words.
pub(crate) fn session_label(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Success => "ended its work",
        SessionStatus::Failed => "failed",
        SessionStatus::Timeout => "ran out of time",
        SessionStatus::TurnLimit => "reached its turn limit",
        SessionStatus::Budget => "reached its budget",
        SessionStatus::CannotSatisfy => "says that this cannot be satisfied",
        SessionStatus::Infra => "could not be run",
        SessionStatus::Cancelled => "was stopped",
    }
}

/// How a run or a plan ended, in words.
pub(crate) fn outcome_label(outcome: Outcome) -> String {
    let word = style::strong(outcome.as_str().replace('_', " "));
    match outcome {
        Outcome::Verified => style::good(word),
        Outcome::Unchecked | Outcome::Unchanged | Outcome::NeedsReview => style::warning(word),
        _ => style::bad(word),
    }
}

/// Names what could not be restored, before the agent begins.
pub(super) fn unkept_notice(unkept: &ExcludedContent) -> String {
    let text = format!(
        "too large for snapshots, so they cannot be restored if the agent deletes them: {}",
        unkept.describe()
    );
    format!("{} {}", style::warning("note:"), one_line(&text, 400))
}

/// How a tree that was put aside comes back.
pub(crate) fn restore_command(run: &Run, tree: &TreeId) -> String {
    format!(
        "selvedge restore {} --tree {}",
        run.run_id.short(),
        tree.as_str()
    )
}
