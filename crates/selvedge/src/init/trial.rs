//! What came of trying a proposal once.

use std::time::Duration;

use selvedge_core::model::{CheckReport, CheckStatus};

use super::proposal::Proposal;

/// What a shell exits with when it does not find a program.
const EXIT_NOT_FOUND: i32 = 127;

/// How a proposed check did on the repository as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trial {
    /// It passed.
    Passed {
        /// In this time.
        took: Duration,
    },
    /// It ran and did not pass.
    Failed {
        /// In this time.
        took: Duration,
        /// Why, in a few words: `exit code 1`, `no test was executed`.
        why: String,
    },
    /// It did not end in time.
    TimedOut {
        /// The time that it had.
        limit: Duration,
    },
    /// It could not be started.
    NotStarted {
        /// Why, in a few words: ``no program `golangci-lint` ``.
        why: String,
    },
    /// Nobody asked for a trial.
    Skipped,
}

impl Trial {
    /// What a check's report says of its one run.
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
                why: "a program that it needs is missing".to_owned(),
            },
            CheckStatus::Fail => Self::Failed {
                took,
                why: why("it did not pass"),
            },
            CheckStatus::Timeout => Self::TimedOut { limit: took },
            CheckStatus::Error => Self::NotStarted {
                why: why("it could not be run"),
            },
            CheckStatus::Skip => Self::Skipped,
        }
    }
}

/// A proposal and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriedProposal {
    /// The check.
    pub(crate) proposal: Proposal,
    /// How it did.
    pub(crate) trial: Trial,
}

/// Tries each proposal once, one after the other: they share caches and would skew each other's
/// times. `run` is the caller's, since processes are the engine's.
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
