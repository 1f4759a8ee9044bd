//! `selvedge verify --base REV`: existing changes are compared with the revision that they started
//! from. The revision is checked out in a separate folder, so the directory itself is read and never written.

use std::path::Path;
use std::time::Duration;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::guard::Protection;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    Baseline, BaselineMode, GuardReport, KnownFailures, Report, ReportStatus, VerificationPlan,
};
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{BaseRevision, VerificationTrees};
use tokio_util::sync::CancellationToken;

use crate::error::CliError;
use crate::local::StateDir;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// The results of the checks on the base revision, and the findings in the changes since.
pub(super) struct BaseComparison {
    guard: GuardReport,
    baseline: Baseline,
    known_failures: KnownFailures,
}

pub(super) fn check_out_base(dir: &Path, revision: &str) -> Result<BaseRevision, CliError> {
    BaseRevision::check_out(dir, revision).map_err(|error| {
        let hint =
            "a shallow clone may not contain it: fetch it first (in CI, with the full history)";
        CliError::usage(format!("cannot check out {revision}: {error}")).hint(hint)
    })
}

impl BaseComparison {
    /// Runs the checks on the base revision, and inspects the changes since.
    pub(super) async fn run(
        base: &BaseRevision,
        trees: &VerificationTrees,
        settings: &ResolvedConfig,
        (plan, known_failures): (&VerificationPlan, &KnownFailures),
        (limit, home): (Duration, &StateDir),
        progress: &dyn Progress,
    ) -> Result<Self, CliError> {
        let protection =
            Protection::new(&settings.protect, &settings.allow).map_err(CliError::usage)?;
        let mut baseline = Baseline {
            checks: Vec::new(),
            written_files: Vec::new(),
            cached: 0,
            duration_ms: 0,
        };
        if let VerificationPlan::Steps { steps } = plan
            && settings.baseline != BaselineMode::Off
        {
            let supervisor = base_supervisor(base, settings, home).await?;
            let never = CancellationToken::new();
            let result = base.run_baseline(steps, limit, &supervisor, progress, &never);
            let result = result.await;
            supervisor.shutdown().await;
            baseline = result.map_err(CliError::infrastructure)?;
        }
        let findings = base.findings(trees, &protection, &baseline);
        Ok(Self {
            guard: GuardReport::of(findings.map_err(CliError::infrastructure)?),
            baseline,
            known_failures: known_failures.clone(),
        })
    }

    /// Completes a report with the comparison. If it passes, also runs the checks with the tests of the base revision.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of one verification"
    )]
    pub(super) async fn complete_report(
        self,
        base: &BaseRevision,
        trees: &VerificationTrees,
        settings: &ResolvedConfig,
        plan: &VerificationPlan,
        expect_test_changes: &[String],
        (limit, home): (Duration, &StateDir),
        report: &mut Report,
        progress: &dyn Progress,
    ) -> Result<(), CliError> {
        report.guard = Some(self.guard);
        let baseline_checks: Vec<_> = self.baseline.checks.iter().map(Some).collect();
        let mut preview = report.clone();
        compare(&baseline_checks, &self.known_failures, &mut preview);
        if let VerificationPlan::Steps { steps } = plan
            && preview.status == ReportStatus::Pass
        {
            let supervisor = base_supervisor(base, settings, home).await?;
            let never = CancellationToken::new();
            let crossed = base
                .run_cross_verification(
                    trees,
                    steps,
                    expect_test_changes,
                    limit,
                    &self.baseline,
                    &self.known_failures,
                    &report.checks,
                    &supervisor,
                    progress,
                    &never,
                )
                .await;
            supervisor.shutdown().await;
            report.crossed = crossed.map_err(CliError::infrastructure)?.map(Box::new);
        }
        compare(&baseline_checks, &self.known_failures, report);
        Ok(())
    }
}

/// A supervisor for processes in the base revision's folder, with the sandbox of checks.
async fn base_supervisor(
    base: &BaseRevision,
    settings: &ResolvedConfig,
    home: &StateDir,
) -> Result<Supervisor, CliError> {
    let sandboxes = sandbox_setup::set_up_sandbox(&settings.sandbox, base.dir(), home).await?;
    Ok(checks_supervisor(&settings.environment, base.dir()).with_sandbox(sandboxes.checks))
}
