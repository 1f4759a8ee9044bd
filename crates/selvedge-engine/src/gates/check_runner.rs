//! Runs one check of the plan, reports progress, and turns the outcome into a record of the report.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use selvedge_core::model::{CheckReport, SetupSpec, Step};
use tokio_util::sync::CancellationToken;

use super::setup;
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::checks::{CheckContext, CheckOutcome, check_for};
use crate::process::Supervisor;
use crate::sandbox::WorkspaceSandbox;

/// Where checks run, and the names of their processes and files.
#[derive(Debug, Clone)]
pub(crate) struct VerificationContext {
    /// The workspace, canonical: where checks see its files.
    pub(crate) workspace: PathBuf,
    /// Where the workspace's files are: the workspace itself, or a verification room that is mounted at its path.
    pub(crate) files_root: PathBuf,
    /// Directory for outputs; exists.
    pub(crate) run_dir: PathBuf,
    /// Prefix of the tag of every process.
    pub(crate) tag: String,
    /// Prefix of the name of every output file.
    pub(crate) output_prefix: String,
    /// For each check, its output when it last passed.
    pub(crate) passing_outputs: Vec<Option<PathBuf>>,
    /// Held as long as any process of a check lives.
    pub(crate) lock: PathBuf,
    /// Starts supervised processes.
    pub(crate) supervisor: Supervisor,
    /// Whether this is the baseline.
    pub(crate) is_baseline: bool,
    /// Commands that install dependencies and reset state for the checks.
    pub(crate) setup: SetupSpec,
    /// The time that they took so far, in milliseconds.
    pub(crate) setup_ms: Arc<AtomicU64>,
}

/// A check and its number in the plan, from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedStep<'a> {
    pub(crate) index: usize,
    pub(crate) step: &'a Step,
}

/// The end of the time for some checks. Waiting for other checks of the machine does not use up time.
#[derive(Debug)]
pub(super) struct CheckDeadline(Mutex<Instant>);

impl CheckDeadline {
    pub(super) fn new(end: Instant) -> Self {
        Self(Mutex::new(end))
    }

    pub(super) fn end(&self) -> Instant {
        *self.0.lock()
    }

    pub(super) fn remaining(&self) -> Duration {
        self.end().saturating_duration_since(Instant::now())
    }

    /// Ensures that this much time is left; checks that wait side by side do not add up.
    fn ensure_remaining(&self, remaining: Duration) {
        let mut end = self.0.lock();
        *end = (*end).max(Instant::now() + remaining);
    }
}

impl VerificationContext {
    /// The same context with another prefix of names, for further runs of the checks.
    pub(crate) fn with_prefix(&self, what: &str) -> Self {
        Self {
            tag: format!("{}.{what}", self.tag),
            output_prefix: format!("{}.{what}", self.output_prefix),
            ..self.clone()
        }
    }

    /// The same context for checks that run one after another: their sandbox is planned from one search of the paths.
    pub(super) fn for_successive_checks(&self) -> Self {
        let sandbox = self.supervisor.sandbox();
        let sandbox = sandbox.map(WorkspaceSandbox::with_paths_searched_once);
        Self {
            supervisor: self.supervisor.clone().with_sandbox(sandbox),
            ..self.clone()
        }
    }

    /// The given steps and the setup's, because scripts of the setup belong to the checks.
    pub(super) fn with_setup(&self, steps: &[Step]) -> Vec<Step> {
        steps.iter().cloned().chain(self.setup.steps()).collect()
    }

    /// Resets state before a run of the checks, if the setup has commands for it.
    ///
    /// # Errors
    /// A command fails, or the run is being stopped.
    pub(crate) async fn reset(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), CheckError> {
        let lines = &self.setup.reset;
        match setup::run_lines(self, lines, "reset", progress, cancel).await? {
            None => Ok(()),
            Some(error) => Err(CheckError::Infrastructure(error)),
        }
    }

    /// Runs a check within the time that is left until a deadline, and reports progress.
    pub(super) async fn run_check(
        &self,
        numbered: IndexedStep<'_>,
        deadline: &CheckDeadline,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let label = numbered.step.label().to_owned();
        progress.on_activity(Activity::CheckStarted {
            label: label.clone(),
        });
        let finding = self
            .run_check_silent(numbered, deadline, progress, cancel)
            .await?;
        progress.on_activity(Activity::CheckEnded {
            label,
            status: finding.status,
            reason: finding.reason.clone(),
            duration_ms: millis(finding.duration),
        });
        Ok(finding)
    }

    /// The same; reports only that the check waits for others of the machine.
    pub(super) async fn run_check_silent(
        &self,
        numbered: IndexedStep<'_>,
        deadline: &CheckDeadline,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        self.run_check_with(numbered, None, deadline, progress, cancel)
            .await
    }

    /// Runs a check with `argv` in place of the step's own command line.
    pub(super) async fn run_check_with(
        &self,
        IndexedStep { index, step }: IndexedStep<'_>,
        argv: Option<Vec<String>>,
        deadline: &CheckDeadline,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let remaining = deadline.remaining();
        if remaining.is_zero() {
            let reason = "the verification's time limit was reached before it started";
            return Ok(CheckOutcome::timeout(reason));
        }
        let slots = self.supervisor.check_slots();
        let _slot = match slots.filter(|_| step.kind.executes()) {
            Some(slots) => {
                let slot = slots.acquire(progress, cancel).await?;
                deadline.ensure_remaining(remaining);
                slot
            }
            None => None,
        };
        let own = step.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
        let number = index + 1;
        let context = CheckContext {
            workspace: self.workspace.clone(),
            files_root: self.files_root.clone(),
            names: step.name.iter().chain([&step.target]).cloned().collect(),
            run_dir: self.run_dir.clone(),
            output_file: format!("{}.check-{number}.out", self.output_prefix),
            passing_output: self.passing_outputs.get(index).cloned().flatten(),
            tag: format!("{}.check-{number}", self.tag),
            lock: self.lock.clone(),
            supervisor: self.supervisor.clone(),
            limit: remaining.min(own),
            argv,
            is_baseline: self.is_baseline,
        };
        check_for(step).run(&context, cancel).await
    }
}

/// Converts the outcome of a check to its record in the report.
pub(crate) fn check_report(
    step: &Step,
    finding: CheckOutcome,
    digest: Option<String>,
) -> CheckReport {
    let failures = finding.analysis.filter(|_| finding.status.is_failure());
    CheckReport {
        reason: finding.reason,
        exit_code: finding.exit_code,
        duration_ms: millis(finding.duration),
        output: finding.output,
        output_ref: finding.output_ref,
        failures: failures.map_or_else(Vec::new, |analysis| analysis.failures),
        digest,
        tests: finding.tests,
        evidence: Some(finding.evidence),
        processes: finding.processes,
        replaced_modules: finding.replaced_modules,
        ..CheckReport::new(step, finding.status)
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_deadline_is_moved_by_the_time_that_was_waited() {
        let began = Instant::now();
        let deadline = CheckDeadline::new(began);
        assert!(deadline.remaining().is_zero());
        let minute = Duration::from_mins(1);
        deadline.ensure_remaining(minute);
        deadline.ensure_remaining(minute);
        assert!(deadline.end() >= began + minute);
        assert!(deadline.end() <= Instant::now() + minute);
    }
}
