//! Trials of proposed checks.

use std::path::Path;
use std::time::Duration;

use selvedge_core::model::{CheckReport, CheckStatus};

use super::diagnosis::{find_environment_problem, shows_failures_of_code};
use super::proposal::{CheckRole, Proposal};

/// The exit code of a shell that does not find a program.
const EXIT_NOT_FOUND: i32 = 127;

/// Limits for the output that is quoted in the settings file.
const MAX_QUOTED_LINES: usize = 6;
const MAX_QUOTED_CHARS: usize = 160;

/// The result of running a proposed check once on the current files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trial {
    Passed {
        took: Duration,
    },
    /// It failed because of the code: tests failed, or a tool found problems.
    Failed {
        took: Duration,
        /// A short reason: `exit code 1`.
        why: String,
        /// The failures, as `known_failures` of the settings lists them; empty if not all are named.
        known_failures: Vec<String>,
    },
    TimedOut {
        limit: Duration,
    },
    /// It did not pass, for a reason that does not lie in the code, as far as is known.
    Unusable {
        /// A short reason: ``no program `golangci-lint` ``, `no test was executed`.
        why: String,
        /// Lines of its output.
        output: Vec<String>,
    },
    /// Trials were not requested.
    Skipped,
}

impl Trial {
    /// Converts the report of a proposal's run in `dir`, the root of the repository.
    pub(crate) fn from_report(report: &CheckReport, proposal: &Proposal, dir: &Path) -> Self {
        let took = Duration::from_millis(report.duration_ms);
        let why = |otherwise: &str| {
            report
                .reason
                .clone()
                .unwrap_or_else(|| otherwise.to_owned())
        };
        match report.status {
            CheckStatus::Pass => Self::Passed { took },
            CheckStatus::Fail if report.exit_code == Some(EXIT_NOT_FOUND) => {
                Self::unusable("a required program is missing", report, proposal)
            }
            CheckStatus::Fail => {
                let dir = dir.join(proposal.step.directory.as_deref().unwrap_or_default());
                if let Some(line) = find_environment_problem(&report.output, &dir) {
                    Self::unusable(&shorten(line), report, proposal)
                } else if shows_failures_of_code(report, &dir) || is_unformatted(report, proposal) {
                    Self::Failed {
                        took,
                        why: why("failed"),
                        known_failures: known_failures(report),
                    }
                } else {
                    Self::Unusable {
                        why: why("failed"),
                        output: last_lines(&report.output),
                    }
                }
            }
            CheckStatus::Timeout => Self::TimedOut { limit: took },
            CheckStatus::Error => Self::unusable(&why("could not run"), report, proposal),
            CheckStatus::Skip => Self::Skipped,
        }
    }

    /// Whether the check can be used.
    pub(crate) const fn is_active(&self) -> bool {
        matches!(
            self,
            Self::Passed { .. } | Self::Failed { .. } | Self::Skipped
        )
    }

    /// Something that the check needs is missing; names the command that may install it.
    fn unusable(problem: &str, report: &CheckReport, proposal: &Proposal) -> Self {
        let why = match &proposal.install {
            Some(install) => format!("{problem}; run `{install}` first"),
            None => problem.to_owned(),
        };
        Self::Unusable {
            why,
            output: last_lines(&report.output),
        }
    }
}

/// Whether a formatter reports files that are not formatted: by exit code 1, where other problems have another one.
fn is_unformatted(report: &CheckReport, proposal: &Proposal) -> bool {
    proposal.role == CheckRole::Format && report.exit_code == Some(1)
}

/// The ids of failed tests; the label of a check that is not a test; empty if the runner does not name all failed tests.
fn known_failures(report: &CheckReport) -> Vec<String> {
    match report.tests.as_ref().filter(|tests| tests.failed > 0) {
        Some(tests) if tests.names_failed() => tests.failed_ids.ids.clone(),
        Some(_) => Vec::new(),
        None => vec![report.label().to_owned()],
    }
}

fn last_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(MAX_QUOTED_LINES);
    lines[first..].iter().map(|line| shorten(line)).collect()
}

fn shorten(line: &str) -> String {
    line.trim_end().chars().take(MAX_QUOTED_CHARS).collect()
}

/// A proposal and the result of its trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriedProposal {
    pub(crate) proposal: Proposal,
    pub(crate) trial: Trial,
}

impl TriedProposal {
    /// Whether the check is written so that it applies, not as a comment. A linter or formatter that nothing in the
    /// repository asks for, and that fails, would keep every run from being verified.
    pub(crate) fn is_active(&self) -> bool {
        let is_required = self.proposal.role == CheckRole::Test || !self.proposal.is_guess;
        let fails = matches!(self.trial, Trial::Failed { .. });
        self.trial.is_active() && (is_required || !fails)
    }
}

/// Tries the proposals one after the other: they share caches and would distort each other's durations. If one cannot be
/// used, its alternatives are tried, too. The caller provides `run`, because only the engine starts processes.
pub(crate) async fn try_proposals(
    proposals: Vec<Proposal>,
    mut run: impl AsyncFnMut(&Proposal) -> Trial,
) -> Vec<TriedProposal> {
    let mut tried = Vec::with_capacity(proposals.len());
    for mut proposal in proposals {
        let mut alternatives = std::mem::take(&mut proposal.alternatives).into_iter();
        let mut next = Some(proposal);
        while let Some(proposal) = next {
            let trial = run(&proposal).await;
            let result = TriedProposal { proposal, trial };
            next = (!result.is_active()).then(|| alternatives.next()).flatten();
            tried.push(result);
        }
    }
    tried
}
