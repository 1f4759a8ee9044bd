//! What is going on, as the wire tells it. The `verification_*` ones are projected from events and from
//! checks as they end; the rest is activity, which may be dropped and counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::report_result;
use crate::machine::Run;
use crate::model::{CheckStatus, Cost, Envelope, Event, ReportStatus};

/// One thing that just happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event_type")]
pub enum ProgressEvent {
    /// A fresh session begins after a failed verification.
    VerificationRetryStart {
        /// The attempt.
        attempt: u32,
        /// Attempts beyond the first that are allowed.
        max_retries: u32,
        /// In words.
        text: String,
    },
    /// A check ended.
    VerificationCheckResult {
        /// `command`, `test_passes`, …; empty where it is not known.
        check_type: String,
        /// What it says.
        check_status: CheckStatus,
        /// The attempt; 0 for the baseline.
        attempt: u32,
        /// Its label.
        text: String,
        /// Why, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Wall time in milliseconds.
        #[serde(default)]
        duration_ms: u64,
    },
    /// An attempt was verified.
    VerificationRetryComplete {
        /// The attempt.
        attempt: u32,
        /// Checks that passed.
        passed: u32,
        /// Checks that failed.
        failed: u32,
        /// What the report says.
        status: ReportStatus,
        /// In words.
        text: String,
    },
    /// Something worth a line.
    Status {
        /// It.
        message: String,
    },
    /// A check begins.
    CheckStart {
        /// Its label.
        text: String,
        /// Whether it failed before and is run again on the same bytes.
        #[serde(default)]
        again: bool,
    },
    /// The agent says something.
    Token {
        /// What.
        text: String,
    },
    /// The agent uses a tool, or has used it.
    Tool {
        /// The tool.
        name: String,
        /// What it is used on.
        #[serde(default)]
        subject: String,
        /// How it ended, once it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
    },
    /// The model's API is tried again inside the executor; this is no verification retry.
    ApiRetry {
        /// Which retry.
        attempt: u32,
        /// How many there may be.
        max: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// Why.
        text: String,
    },
    /// What it has cost.
    Cost {
        /// The session so far.
        attempt: Cost,
        /// All of the run before it, and it.
        cumulative: Cost,
    },
    /// Something of a later release.
    #[serde(other)]
    Unknown,
}

/// What an event means for those who only watch progress. `run` is the run with it.
pub fn project(envelope: &Envelope, run: &Run) -> Vec<ProgressEvent> {
    let max_retries = run.spec.max_verification_retries;
    match &envelope.event {
        Event::AttemptBegan {
            run_number, retry, ..
        } if *retry > 0 => vec![ProgressEvent::VerificationRetryStart {
            attempt: *run_number,
            max_retries,
            text: format!("retry {retry} of {max_retries}, fresh session"),
        }],
        Event::Reported { report, .. } => vec![ProgressEvent::VerificationRetryComplete {
            attempt: report.run_number,
            passed: report.summary.passed,
            failed: report.summary.failed,
            status: report.status,
            text: report_result(report),
        }],
        Event::GateJudged { run_number, .. } => {
            let report = run.attempt(*run_number).and_then(|it| it.report.as_ref());
            let report = report.filter(|report| report.blocking_gate().is_some());
            let status = |report| ProgressEvent::Status {
                message: report_result(report),
            };
            report.map(status).into_iter().collect()
        }
        Event::SessionEnded { outcome, .. } => vec![ProgressEvent::Cost {
            attempt: outcome.cost,
            cumulative: run.cost(),
        }],
        _ => Vec::new(),
    }
}
