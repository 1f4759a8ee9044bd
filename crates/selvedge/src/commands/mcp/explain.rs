//! `explain`: why a run ended as it did, from its journal.

use selvedge_core::export::ReportVerdict;
use selvedge_core::model::Report;
use selvedge_core::prompt;
use selvedge_core::run::{Attempt, Run};
use selvedge_core::sanitize::sanitize_text;

use crate::commands::{environment, show};
use crate::error::CliError;
use crate::local::StateDir;

/// Token limit for the digests of each attempt.
const ATTEMPT_TOKENS: usize = 800;

/// Explains a run: its outcome, and for each attempt how the session ended and what the checks found. A plan is
/// described by its subtasks.
pub(super) fn explain_run(name: &str) -> Result<String, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let run_id = home.find_run(&journal, name)?;
    let state = home.replay(&journal, run_id)?;
    match &state.run {
        Some(run) if state.plan.is_none() => Ok(sanitize_text(&explain(run))),
        _ => show::run_details_text(name, None),
    }
}

fn explain(run: &Run) -> String {
    let (outcome, reason) = run.conclusion();
    let mut text = format!(
        "run {}: {}, because {reason}\n",
        run.run_id.short(),
        outcome.as_str().replace('_', " ")
    );
    for attempt in &run.attempts {
        text += &explain_attempt(attempt);
    }
    for warning in run.warnings() {
        text += &format!("\nwarning: {warning}");
    }
    text
}

fn explain_attempt(attempt: &Attempt) -> String {
    let mut text = format!("\nattempt {}:\n", attempt.attempt_number);
    match &attempt.session {
        None => text += "the session was interrupted\n",
        Some(session) => {
            if let Some(error) = &session.error {
                text += &format!("the session failed: {error}\n");
            }
        }
    }
    match &attempt.report {
        None => text += "no checks ran\n",
        Some(report) => text += &explain_report(report),
    }
    text
}

/// The verdict of a report; with the digests of what failed.
pub(super) fn explain_report(report: &Report) -> String {
    let verdict = ReportVerdict::of_report(report);
    let mut text = format!("{}: {}\n", verdict.label, verdict.reason);
    if report.summary.failed + report.summary.errors > 0 {
        text += &prompt::feedback(report, ATTEMPT_TOKENS);
        text.push('\n');
    }
    for gate in &report.gates {
        let verdict = match gate.passed {
            Some(true) => "passed",
            Some(false) => "not passed",
            None => "no verdict",
        };
        let detail = gate.error.as_ref().or(gate.feedback.as_ref());
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        text += &format!("tier {}: {verdict}{detail}\n", gate.tier);
    }
    text
}
