//! Trials of proposed checks.

use std::time::Duration;

use selvedge_core::model::{CheckReport, CheckStatus};

use super::proposal::Proposal;

/// The exit code of a shell that does not find a program.
const EXIT_NOT_FOUND: i32 = 127;

/// The result of running a proposed check once on the current files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trial {
    Passed {
        took: Duration,
    },
    /// It ran and did not pass.
    Failed {
        took: Duration,
        /// A short reason: `exit code 1`, `no test was executed`.
        why: String,
    },
    TimedOut {
        limit: Duration,
    },
    NotStarted {
        /// A short reason: ``no program `golangci-lint` ``.
        why: String,
    },
    /// Trials were not requested.
    Skipped,
}

impl Trial {
    /// Converts the report of the check's run.
    pub(crate) fn from_report(report: &CheckReport) -> Self {
        let took = Duration::from_millis(report.duration_ms);
        let why = |otherwise: &str| {
            report
                .reason
                .clone()
                .unwrap_or_else(|| otherwise.to_owned())
        };
        match report.status {
            CheckStatus::Pass => Self::Passed { took },
            CheckStatus::Fail if report.exit_code == Some(EXIT_NOT_FOUND) => Self::NotStarted {
                why: "a required program is missing".to_owned(),
            },
            CheckStatus::Fail => Self::Failed {
                took,
                why: why("failed"),
            },
            CheckStatus::Timeout => Self::TimedOut { limit: took },
            CheckStatus::Error => Self::NotStarted {
                why: why("could not run"),
            },
            CheckStatus::Skip => Self::Skipped,
        }
    }
}

/// A proposal and the result of its trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriedProposal {
    pub(crate) proposal: Proposal,
    pub(crate) trial: Trial,
}

/// Tries the proposals one after the other: they share caches and would distort each other's durations. The caller
/// provides `run`, because only the engine starts processes.
pub(crate) async fn try_proposals(
    proposals: Vec<Proposal>,
    mut run: impl AsyncFnMut(&Proposal) -> Trial,
) -> Vec<TriedProposal> {
    let mut tried = Vec::with_capacity(proposals.len());
    for proposal in proposals {
        let trial = run(&proposal).await;
        tried.push(TriedProposal { proposal, trial });
    }
    tried
}
