//! The verification of an agent's work in the user's directory. The checks run there; the base, and the checks with the
//! original tests, in a copy of the files from which the work began.

use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::guard::Protection;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    Baseline, CheckReport, CheckStatus, GuardReport, Report, ReportStatus, RunSpec, SetupSpec,
    Timestamp, TreeId,
};
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::workspace::Workspace;
use selvedge_engine::{BaseRevision, Verification, verify};
use tokio_util::sync::CancellationToken;

use super::session::StartTrees;
use crate::error::CliError;
use crate::local::StateDir;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// Opens the snapshots of the whole repository that contains a directory.
pub(super) fn open_repository(
    home: &StateDir,
    workspace: &Workspace,
) -> Result<Workspace, CliError> {
    let root = workspace.repository_root().unwrap_or(workspace.dir());
    home.open_workspace(root).map_err(CliError::infrastructure)
}

/// A copy of the files from which the work began.
pub(super) fn copy_start(
    home: &StateDir,
    dir: &Path,
    start: &StartTrees,
) -> Result<BaseRevision, CliError> {
    let workspace = home.open_workspace(dir).map_err(CliError::infrastructure)?;
    let repository = open_repository(home, &workspace)?;
    BaseRevision::of_snapshot(dir, &repository, &start.repository).map_err(CliError::infrastructure)
}

/// Runs the checks on the files from which the work began. `None` if a check cannot run there: then there is nothing
/// to compare with.
pub(super) async fn take_baseline(
    home: &StateDir,
    spec: &RunSpec,
    start: &StartTrees,
    progress: &dyn Progress,
) -> Result<Option<Baseline>, CliError> {
    let base = copy_start(home, &spec.workspace, start)?;
    let supervisor = supervisor_in(base.dir(), spec, home).await?;
    let limit = Duration::from_millis(spec.verification_timeout_ms);
    let never = CancellationToken::new();
    let taken = base
        .run_baseline(spec.steps(), limit, &supervisor, progress, &never)
        .await;
    supervisor.shutdown().await;
    let baseline = taken.map_err(CliError::infrastructure)?;
    let can_run = |check: &CheckReport| check.status != CheckStatus::Error;
    Ok(baseline.checks.iter().all(can_run).then_some(baseline))
}

/// The work of an attempt.
pub(super) struct AttemptedWork<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) attempt_number: u32,
    /// The folder for outputs.
    pub(super) run_dir: PathBuf,
    /// Start of the run.
    pub(super) began_at: Timestamp,
    /// The judged tree, if there are snapshots.
    pub(super) tree: Option<TreeId>,
    /// The files from which it began, and the results of the checks on them.
    pub(super) base: Option<(&'a StartTrees, &'a Baseline)>,
}

impl AttemptedWork<'_> {
    /// Runs the checks; if they pass although files of the tests have changed, also with the original tests.
    pub(super) async fn verify(
        &self,
        home: &StateDir,
        progress: &dyn Progress,
    ) -> Result<Report, CliError> {
        let spec = self.spec;
        let dir = spec.workspace.as_path();
        let limit = Duration::from_millis(spec.verification_timeout_ms);
        let never = CancellationToken::new();
        let base = match self.base {
            None => None,
            Some((start, baseline)) => {
                let copy = copy_start(home, dir, start)?;
                let trees = copy.trees().map_err(CliError::infrastructure)?;
                Some((copy, trees, baseline))
            }
        };
        let known: Vec<Option<CheckReport>> = base
            .iter()
            .flat_map(|(_, _, baseline)| baseline.checks.iter().cloned().map(Some))
            .collect();
        let supervisor = supervisor_in(dir, spec, home).await?;
        let verification = Verification {
            verification_room: None,
            task_id: spec.task_id,
            attempt_number: self.attempt_number,
            plan: spec.verification.clone(),
            limit,
            workspace: dir.to_owned(),
            tag: format!("gate.{}.{}", spec.task_id, self.attempt_number),
            lock: self.run_dir.join("processes.lock"),
            run_dir: self.run_dir.clone(),
            supervisor: supervisor.clone(),
            trees: None,
            base_trees: base.as_ref().map(|(_, trees, _)| trees.clone()),
            protection: None,
            syntax: spec.syntax.clone(),
            session: None,
            task: spec.description.clone(),
            run_started_at: self.began_at,
            baseline: known.clone(),
            known_failures: spec.known_failures.clone(),
            test_base: None,
            written_before: None,
            setup: SetupSpec::default(),
            changed_tools: None,
            allow: spec.allow.clone(),
            expect_test_changes: spec.expect_test_changes.clone(),
            rerun_failed: spec.rerun_failed,
            passing_outputs: Vec::new(),
            started_at: Timestamp::now(),
        };
        let verified = verify(&verification, progress, &never).await;
        supervisor.shutdown().await;
        let mut report = verified.map_err(CliError::infrastructure)?;
        report.tree = self.tree.clone();
        let Some((copy, trees, baseline)) = base else {
            return Ok(report);
        };
        let protection = Protection::new(&spec.protect, &spec.allow).map_err(CliError::usage)?;
        let findings = copy
            .findings(&trees, &protection, baseline)
            .map_err(CliError::infrastructure)?;
        report.guard = Some(GuardReport::of(findings));
        let mut completed = report.clone();
        let known: Vec<_> = known.iter().map(Option::as_ref).collect();
        compare(&known, &spec.known_failures, &mut completed);
        if completed.status == ReportStatus::Pass {
            let supervisor = supervisor_in(copy.dir(), spec, home).await?;
            let crossed = copy
                .run_cross_verification(
                    &trees,
                    spec.steps(),
                    &spec.expect_test_changes,
                    limit,
                    baseline,
                    &spec.known_failures,
                    &report.checks,
                    &supervisor,
                    progress,
                    &never,
                )
                .await;
            supervisor.shutdown().await;
            report.crossed = crossed.map_err(CliError::infrastructure)?.map(Box::new);
        }
        Ok(report)
    }
}

/// A supervisor for the processes of checks in a directory, with their sandbox.
async fn supervisor_in(
    dir: &Path,
    spec: &RunSpec,
    home: &StateDir,
) -> Result<Supervisor, CliError> {
    let sandboxes = sandbox_setup::set_up_sandbox(&spec.sandbox, dir, home).await?;
    Ok(checks_supervisor(&spec.environment, dir).with_sandbox(sandboxes.checks))
}
