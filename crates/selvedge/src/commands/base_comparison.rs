//! `selvedge verify --base REV`: existing changes are compared with the revision that they started
//! from. The revision is checked out in a separate folder, so the directory itself is read and never written.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::guard::Protection;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    Baseline, BaselineMode, GuardReport, Report, ReportStatus, VerificationPlan,
};
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{BaseRevision, VerificationTrees};
use tokio_util::sync::CancellationToken;

use super::run_checks::ProjectChecks;
use crate::error::CliError;
use crate::local::StateDir;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// The base revision, and everything that is needed to compare the changes since with it.
pub(super) struct BaseContext<'a> {
    pub(super) base: &'a BaseRevision,
    pub(super) trees: &'a VerificationTrees,
    pub(super) settings: &'a ResolvedConfig,
    pub(super) checks: &'a ProjectChecks,
    pub(super) home: &'a StateDir,
    pub(super) progress: &'a dyn Progress,
}

/// The results of the checks on the base revision, and the findings in the changes since.
pub(super) struct BaseComparison {
    guard: GuardReport,
    baseline: Baseline,
}

pub(super) fn check_out_base(dir: &Path, revision: &str) -> Result<BaseRevision, CliError> {
    BaseRevision::check_out(dir, revision).map_err(|error| {
        let hint =
            "a shallow clone may not contain it: fetch it first (in CI, with the full history)";
        CliError::usage(format!("cannot check out {revision}: {error}")).hint(hint)
    })
}

impl BaseContext<'_> {
    /// Runs the checks on the base revision, and inspects the changes since.
    pub(super) async fn compare(&self) -> Result<BaseComparison, CliError> {
        let settings = self.settings;
        let protection =
            Protection::new(&settings.protect, &settings.allow).map_err(CliError::usage)?;
        let mut baseline = Baseline {
            checks: Vec::new(),
            written_files: Vec::new(),
            cached: 0,
            duration_ms: 0,
        };
        if let VerificationPlan::Steps { steps } = &self.checks.plan
            && settings.baseline != BaselineMode::Off
        {
            let supervisor = self.supervisor().await?;
            let (limit, never) = (self.checks.limit, CancellationToken::new());
            let result = self
                .base
                .run_baseline(steps, limit, &supervisor, self.progress, &never)
                .await;
            supervisor.shutdown().await;
            baseline = result.map_err(CliError::infrastructure)?;
        }
        let findings = self.base.findings(self.trees, &protection, &baseline);
        Ok(BaseComparison {
            guard: GuardReport::of(findings.map_err(CliError::infrastructure)?),
            baseline,
        })
    }

    /// Completes a report with the comparison. If it passes, also runs the checks with the tests of the base revision.
    pub(super) async fn complete_report(
        &self,
        comparison: BaseComparison,
        expect_test_changes: &[String],
        report: &mut Report,
    ) -> Result<(), CliError> {
        let BaseComparison { guard, baseline } = comparison;
        report.guard = Some(guard);
        let known_failures = &self.checks.known_failures;
        let baseline_checks: Vec<_> = baseline.checks.iter().map(Some).collect();
        let mut preview = report.clone();
        compare(&baseline_checks, known_failures, &mut preview);
        if let VerificationPlan::Steps { steps } = &self.checks.plan
            && preview.status == ReportStatus::Pass
        {
            let supervisor = self.supervisor().await?;
            let crossed = self
                .base
                .run_cross_verification(
                    self.trees,
                    steps,
                    expect_test_changes,
                    self.checks.limit,
                    &baseline,
                    known_failures,
                    &report.checks,
                    &supervisor,
                    self.progress,
                    &CancellationToken::new(),
                )
                .await;
            supervisor.shutdown().await;
            report.crossed = crossed.map_err(CliError::infrastructure)?.map(Box::new);
        }
        compare(&baseline_checks, known_failures, report);
        Ok(())
    }

    /// A supervisor for processes in the base revision's folder, with the sandbox of checks.
    async fn supervisor(&self) -> Result<Supervisor, CliError> {
        let (settings, dir) = (self.settings, self.base.dir());
        let sandboxes = sandbox_setup::set_up_sandbox(&settings.sandbox, dir, self.home).await?;
        Ok(checks_supervisor(&settings.environment, dir).with_sandbox(sandboxes.checks))
    }
}
