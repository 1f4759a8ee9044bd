//! Trials of proposed checks.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use selvedge_core::machine::find_unrun_reason;
use selvedge_core::model::{
    CheckReport, CheckStatus, Failure, FailureKind, FailureSource, StepKind,
};
use selvedge_digest::{TestSummary, strip_escapes};

use super::diagnosis::{
    EnvironmentProblem, find_environment_problem, find_load_error, is_settings_file, load_errors,
    shows_failures_of_code,
};
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
        /// Whether its output shows that tests ran, or why they could not be built.
        shows_tests: bool,
        /// The failures, as `known_failures` of the settings lists them; empty if not all are named, if tests could not
        /// be loaded, or if the failure may have kept others from running.
        known_failures: Vec<String>,
    },
    /// A command for tests that exited with 0, but nothing shows that it executed any.
    WithoutEvidence {
        took: Duration,
    },
    TimedOut {
        limit: Duration,
    },
    /// It did not pass, probably for a reason outside of the code.
    Unusable {
        /// A short reason: ``no program `golangci-lint` ``, `no test was executed`.
        why: String,
        /// Lines of its output.
        output: Vec<String>,
    },
    /// Trials were not requested.
    Skipped,
    /// It was not run, because another check runs it.
    Contained {
        /// The command of that check.
        by: String,
    },
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
                let is_test = proposal.role == CheckRole::Test;
                let problem = find_environment_problem(&report.output, &dir);
                if let Some(EnvironmentProblem::WritesDependencies(line)) = problem {
                    let line = shorten(line);
                    Self::Unusable {
                        why: format!(
                            "it writes into installed dependencies, which are read-only: {line}"
                        ),
                        output: explain_failure(report, MAX_QUOTED_LINES),
                    }
                } else if let Some(EnvironmentProblem::Other(line)) = problem {
                    Self::unusable(&shorten(line), report, proposal)
                } else if is_test && exits_without_failed_test(report) {
                    // A plain command would also pass without running any tests.
                    match report.tests {
                        None => Self::WithoutEvidence { took },
                        Some(_) => Self::unusable(&why("ran no test"), report, proposal),
                    }
                } else if let Some(error) = find_load_error(report, &dir).filter(|_| is_test) {
                    let problem = format!("no test ran: {}", shorten(error));
                    Self::unusable(&problem, report, proposal)
                } else if shows_failures_of_code(report, &dir) || is_unformatted(report, proposal) {
                    let not_loaded = load_errors(report, &dir);
                    let first = not_loaded.first().filter(|_| is_test);
                    let has_failed = |tests: &&TestSummary| tests.failed > 0;
                    let tests = report.tests.as_ref().filter(has_failed);
                    let unrun = tests.and_then(|_| find_unrun_reason(report));
                    let reason = why("failed");
                    let (why, known_failures) = match (first, unrun) {
                        (Some(file), _) => {
                            let why = format!("{reason}; {file} cannot be loaded: fix that first");
                            (why, Vec::new())
                        }
                        (None, Some(unrun)) => {
                            let why = format!("{reason}; tests may not have run: {unrun}");
                            (why, Vec::new())
                        }
                        (None, None) => (reason, known_failures(report, proposal)),
                    };
                    // `make` reports every failed recipe, with its line of the makefile.
                    let is_build = |failure: &Failure| {
                        let file = failure.file.as_deref().unwrap_or_default();
                        let is_source = !file.to_lowercase().contains("makefile");
                        failure.kind == FailureKind::Compile && is_source
                    };
                    Self::Failed {
                        took,
                        why,
                        shows_tests: report.tests.is_some() || report.failures.iter().any(is_build),
                        known_failures,
                    }
                } else if report.exit_code.is_none() {
                    Self::unusable(&why("could not run"), report, proposal)
                } else {
                    Self::Unusable {
                        why: why("failed"),
                        output: explain_failure(report, MAX_QUOTED_LINES),
                    }
                }
            }
            CheckStatus::Timeout => Self::TimedOut { limit: took },
            CheckStatus::Error => Self::unusable(&why("could not run"), report, proposal),
            CheckStatus::Skip => Self::Skipped,
        }
    }

    /// Whether the check may pass with other environment variables.
    fn can_depend_on_variables(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Unusable { .. })
    }

    /// Something that the check needs is missing. Names the command that may install it, unless that program is
    /// missing, too.
    fn unusable(problem: &str, report: &CheckReport, proposal: &Proposal) -> Self {
        let problem = problem.trim_end_matches('.');
        let is_missing = |install: &&String| {
            let program = install.split(' ').next().unwrap_or_default();
            problem.contains(&format!("program {program} not found"))
        };
        let install = proposal.install.as_ref();
        let why = match install.filter(|install| !is_missing(install)) {
            Some(install) => problem.to_owned() + &install_remedy(install),
            None => problem.to_owned(),
        };
        Self::Unusable {
            why,
            output: explain_failure(report, MAX_QUOTED_LINES),
        }
    }
}

/// The end of a reason that is removed by a command.
fn install_remedy(install: &str) -> String {
    format!("; run `{install}` first")
}

fn exits_without_failed_test(report: &CheckReport) -> bool {
    let failed = report.tests.as_ref().map_or(0, |tests| tests.failed);
    report.exit_code == Some(0) && failed == 0
}

/// Whether a formatter reports files that are not formatted: by exit code 1, where other problems have another one.
fn is_unformatted(report: &CheckReport, proposal: &Proposal) -> bool {
    proposal.role == CheckRole::Format && report.exit_code == Some(1)
}

/// The ids of failed tests, each once; the label of a check that is not of tests. Empty if the runner does not name all
/// failed tests: the label of a check of tests would excuse every test, also one that never ran.
fn known_failures(report: &CheckReport, proposal: &Proposal) -> Vec<String> {
    match report.tests.as_ref().filter(|tests| tests.failed > 0) {
        Some(tests) if tests.names_failed() => {
            let mut seen = BTreeSet::new();
            let ids = tests.failed_ids.ids.iter();
            ids.filter(|id| seen.insert(*id)).cloned().collect()
        }
        None if proposal.role != CheckRole::Test => vec![proposal.step.label().to_owned()],
        Some(_) | None => Vec::new(),
    }
}

/// The first failure with a place or test that was read from the output, or else the end of the output; at most this
/// many lines.
pub(crate) fn explain_failure(report: &CheckReport, max_lines: usize) -> Vec<String> {
    let is_read = |failure: &&Failure| {
        // Without tests, an id is the target of a makefile or the like.
        let is_test = failure.id.is_some() && report.tests.is_some();
        let file = failure.file.as_deref();
        let has_subject = file.map_or(is_test, |file| !is_settings_file(file));
        has_subject && failure.source != FailureSource::Fallback
    };
    // What a package manager or a build tool could not do has no place.
    let is_infra = |failure: &&Failure| {
        failure.kind == FailureKind::Infra && failure.source != FailureSource::Fallback
    };
    let mut failures = report.failures.iter();
    let read = failures.clone().find(is_read);
    if let Some(failure) = read.or_else(|| failures.find(is_infra)) {
        let excerpt = failure.excerpt.as_deref().unwrap_or_default().lines();
        let further =
            excerpt.filter(|line| !line.trim().is_empty() && !line.contains(&failure.summary));
        let lines = std::iter::once(describe_failure(failure)).chain(further.map(shorten));
        return lines.take(max_lines).collect();
    }
    let lines = report.output.lines();
    let has_text = |line: &&str| !strip_escapes(line).trim().is_empty();
    let lines: Vec<&str> = lines.filter(has_text).collect();
    let first = lines.len().saturating_sub(max_lines);
    lines[first..].iter().map(|line| shorten(line)).collect()
}

/// A failure in one line, as compilers write it: place or test, then the problem.
fn describe_failure(failure: &Failure) -> String {
    let numbers = [failure.line, failure.column].into_iter().flatten();
    let numbers: Vec<_> = numbers.map(|number| format!(":{number}")).collect();
    let file = failure.file.as_ref();
    let place = file.map(|file| format!("{file}{}", numbers.concat()));
    let subject = failure.id.clone().or(place);
    match subject {
        Some(subject) => shorten(&format!("{subject}: {}", failure.summary)),
        None => shorten(&failure.summary),
    }
}

fn shorten(line: &str) -> String {
    let line = strip_escapes(line);
    let line = line.trim_end();
    match line.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// A proposal and the result of its trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriedProposal {
    pub(crate) proposal: Proposal,
    pub(crate) trial: Trial,
}

impl TriedProposal {
    /// Whether the check is written so that it applies, not as a comment. A linter or formatter that fails already,
    /// often because its version is not the one of CI, would keep every run from being verified.
    pub(crate) fn is_active(&self) -> bool {
        match self.trial {
            Trial::Passed { .. } | Trial::Skipped => true,
            Trial::Failed { .. } => self.proposal.role == CheckRole::Test,
            Trial::WithoutEvidence { .. } => self.proposal.step.kind == StepKind::Command,
            Trial::TimedOut { .. } | Trial::Unusable { .. } | Trial::Contained { .. } => false,
        }
    }

    /// The command that installs what the check misses, if the reason names it.
    pub(crate) fn missing_install(&self) -> Option<&str> {
        let install = self.proposal.install.as_deref()?;
        let Trial::Unusable { why, .. } = &self.trial else {
            return None;
        };
        why.ends_with(&install_remedy(install)).then_some(install)
    }

    /// Whether it failed, and nothing shows that it ran tests.
    fn fails_without_evidence(&self) -> bool {
        matches!(
            self.trial,
            Trial::Failed {
                shows_tests: false,
                ..
            }
        )
    }

    /// Whether it applies and needs evidence that tests ran.
    pub(crate) fn runs_tests(&self) -> bool {
        self.is_active() && self.proposal.step.kind == StepKind::TestPasses
    }
}

/// Of the commands for one purpose, where what the first runs before the tests fails already: another one that runs the
/// tests alone, or else only the first.
fn prefer_running_tests(group: &mut Vec<TriedProposal>) {
    if !group
        .first()
        .is_some_and(TriedProposal::fails_without_evidence)
    {
        return;
    }
    if !group
        .iter()
        .any(|result| result.runs_tests() && !result.fails_without_evidence())
    {
        group.truncate(1);
        return;
    }
    for result in group {
        if let Trial::Failed {
            why,
            shows_tests: false,
            ..
        } = &result.trial
        {
            result.trial = Trial::Unusable {
                why: format!("{why}, before it ran tests"),
                output: Vec::new(),
            };
        }
    }
}

/// The proposal with the environment variables that CI sets for it.
fn with_variables(proposal: &Proposal) -> Option<Proposal> {
    let mut with = proposal.clone();
    let variables = with.variables.take()?;
    with.step.target = format!("{variables} {}", with.step.target);
    Some(with)
}

/// The command of a check that applies and runs the proposal, too.
fn find_container(proposal: &Proposal, tried: &[TriedProposal]) -> Option<String> {
    let runs_it = |other: &&TriedProposal| {
        let step = &other.proposal.step;
        let is_as_strong = proposal.role != CheckRole::Test || other.runs_tests();
        other.is_active()
            && is_as_strong
            && step.directory == proposal.step.directory
            && proposal.contained_in.contains(&step.target)
    };
    let container = tried.iter().find(runs_it)?;
    Some(container.proposal.step.target.clone())
}

/// Tries the proposals one after the other: they share caches and would distort each other's durations. If one cannot be
/// used, its alternatives are tried, too; a check that fails is tried with the variables that CI sets for it. If none shows
/// that tests ran, the first one that exits with 0 becomes a plain command. The caller provides `run`, because only the
/// engine starts processes.
pub(crate) async fn try_proposals(
    proposals: Vec<Proposal>,
    mut run: impl AsyncFnMut(&Proposal) -> Trial,
) -> Vec<TriedProposal> {
    let mut tried: Vec<TriedProposal> = Vec::with_capacity(proposals.len());
    // Checks that others may contain are last, because that depends on whether those can be used.
    let (alone, contained): (Vec<_>, Vec<_>) = proposals
        .into_iter()
        .partition(|proposal| proposal.contained_in.is_empty());
    for mut proposal in alone.into_iter().chain(contained) {
        if let Some(by) = find_container(&proposal, &tried) {
            let trial = Trial::Contained { by };
            tried.push(TriedProposal { proposal, trial });
            continue;
        }
        let first = tried.len();
        let mut alternatives = std::mem::take(&mut proposal.alternatives).into_iter();
        let mut next = Some(proposal);
        while let Some(mut proposal) = next {
            let mut trial = run(&proposal).await;
            if let Some(with) =
                with_variables(&proposal).filter(|_| trial.can_depend_on_variables())
            {
                let second = run(&with).await;
                if matches!(second, Trial::Passed { .. }) {
                    (proposal, trial) = (with, second);
                }
            }
            let result = TriedProposal { proposal, trial };
            let is_enough = result.is_active() && !result.fails_without_evidence();
            next = (!is_enough).then(|| alternatives.next()).flatten();
            tried.push(result);
        }
        let mut group = tried.split_off(first);
        let without_evidence =
            |result: &TriedProposal| matches!(result.trial, Trial::WithoutEvidence { .. });
        if let Some(passed) = group.iter().position(without_evidence)
            && !group
                .iter()
                .any(|result| result.is_active() && !result.fails_without_evidence())
        {
            group[passed].proposal.step.kind = StepKind::Command;
            group.retain(|result| !result.fails_without_evidence());
        }
        prefer_running_tests(&mut group);
        let mut reasons = BTreeSet::new();
        group.retain(|result| match &result.trial {
            // Another form of the command misses the same.
            Trial::Unusable { why, .. } if why.contains("not found in PATH") => {
                reasons.insert(why.clone())
            }
            _ => true,
        });
        for result in &mut group {
            // Nothing shows that a run which passes would contain evidence of tests.
            if result.fails_without_evidence() {
                result.proposal.step.kind = StepKind::Command;
            }
        }
        tried.append(&mut group);
    }
    tried
}
