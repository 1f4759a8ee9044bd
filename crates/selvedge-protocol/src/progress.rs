//! Progress events on the wire. The `verification_*` events are projected from journal events and from completed
//! checks; the others are activity, which may be dropped and counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::describe::report_result;
use selvedge_core::model::{CheckStatus, Cost, Envelope, Event, ReportStatus};
use selvedge_core::run::Run;

/// A single progress event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event_type")]
pub enum ProgressEvent {
    /// A fresh session begins after a failed verification.
    VerificationRetryStart {
        /// Number of the retry, from 1.
        attempt: u32,
        /// Maximum number of attempts after the first.
        max_retries: u32,
        /// As text.
        text: String,
    },
    /// A check ended.
    VerificationCheckResult {
        /// `command`, `test_passes`, …; empty if unknown.
        check_type: String,
        /// The check's status.
        check_status: CheckStatus,
        /// The attempt; 0 for the baseline.
        attempt: u32,
        /// Its label.
        text: String,
        /// The reason, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Elapsed time in milliseconds.
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
        /// The report's status.
        status: ReportStatus,
        /// As text.
        text: String,
    },
    /// A status message.
    Status {
        /// The message.
        message: String,
    },
    /// A check begins.
    CheckStart {
        /// Its label.
        text: String,
        /// Whether it is a rerun after a failure, on the same bytes.
        #[serde(default)]
        again: bool,
    },
    /// Text from the agent.
    Token {
        /// The text.
        text: String,
    },
    /// The agent uses a tool, or has used it.
    Tool {
        /// The tool.
        name: String,
        /// The object of the call.
        #[serde(default)]
        subject: String,
        /// Whether it succeeded; absent while it is running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
    },
    /// The executor retries the model's API; this is not a verification retry.
    ApiRetry {
        /// Number of the retry.
        attempt: u32,
        /// Maximum number of retries.
        max: u32,
        /// Delay in milliseconds.
        delay_ms: u64,
        /// The reason.
        text: String,
    },
    /// The cost.
    Cost {
        /// Cost of the session so far.
        attempt: Cost,
        /// Cost of the run, including the session.
        cumulative: Cost,
    },
    /// An event of a later release.
    #[serde(other)]
    Unknown,
}

/// The progress events for a journal event. `run` is the run after the event.
pub fn project(envelope: &Envelope, run: &Run) -> Vec<ProgressEvent> {
    let max_retries = run.spec.max_verification_retries;
    match &envelope.event {
        Event::AttemptBegan { retry, .. } if *retry > 0 => {
            vec![ProgressEvent::VerificationRetryStart {
                attempt: *retry,
                max_retries,
                text: format!("retry {retry} of {max_retries}, fresh session"),
            }]
        }
        Event::Reported { report, .. } => vec![ProgressEvent::VerificationRetryComplete {
            attempt: report.attempt_number,
            passed: report.summary.passed,
            failed: report.summary.failed,
            status: report.status,
            text: report_result(report),
        }],
        Event::GateJudged { attempt_number, .. } => {
            let report = run
                .attempt(*attempt_number)
                .and_then(|it| it.report.as_ref());
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
