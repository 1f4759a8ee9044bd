//! `selvedge verify --since REV`: work that no run watched, held against what stood before it. The
//! revision is laid out beside, so the directory itself is read and never written.

use std::path::Path;
use std::time::Duration;

use selvedge_core::config::Resolved;
use selvedge_core::guard::Protection;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    Baseline, BaselineMode, GuardReport, KnownFailures, Report, VerificationPlan,
};
use selvedge_engine::Since;
use selvedge_engine::activity::Progress;
use tokio_util::sync::CancellationToken;

use crate::error::CliError;
use crate::freeze;
use crate::local::Home;
use crate::secrets::supervisor_of_checks;
use crate::walls;

/// What is known of the time before, and of what was changed since.
pub(super) struct Before {
    guard: GuardReport,
    baseline: Baseline,
    known_failures: KnownFailures,
}

/// Lays out the revision.
pub(super) fn check_out(dir: &Path, revision: &str) -> Result<Since, CliError> {
    Since::of(dir, revision).map_err(|error| {
        let hint = "a shallow clone may lack it: fetch it first (in CI, with the whole history)";
        CliError::usage(format!("cannot look at {revision}: {error}")).hint(hint)
    })
}

impl Before {
    /// Looks at what was changed, then runs the checks on what stood there before.
    pub(super) async fn look(
        since: &Since,
        settings: &Resolved,
        plan: &VerificationPlan,
        (limit, home): (Duration, &Home),
        progress: &dyn Progress,
    ) -> Result<Self, CliError> {
        let protect = freeze::protect(settings, plan);
        let protection = Protection::new(&protect, &settings.allow, "").map_err(CliError::usage)?;
        let findings = since.findings(&protection);
        let mut before = Self {
            guard: GuardReport::of(findings.map_err(CliError::infrastructure)?),
            baseline: Baseline {
                checks: Vec::new(),
                cached: 0,
                duration_ms: 0,
            },
            known_failures: settings.known_failures,
        };
        if let VerificationPlan::Steps { steps } = plan
            && settings.baseline != BaselineMode::Off
        {
            let raised = walls::raise(&settings.sandbox, since.dir(), home).await?;
            let supervisor =
                supervisor_of_checks(&settings.environment, since.dir()).within(raised.checks);
            let never = CancellationToken::new();
            let taken = since.baseline(steps, limit, &supervisor, progress, &never);
            let taken = taken.await;
            supervisor.retire().await;
            before.baseline = taken.map_err(CliError::infrastructure)?;
        }
        Ok(before)
    }

    /// Holds a report against it.
    pub(super) fn judge(self, report: &mut Report) {
        report.guard = Some(self.guard);
        compare(&self.baseline, self.known_failures, report);
    }
}
