//! Checks carried out once, outside any run: for `verify`, for `init`, which tries what it proposes,
//! and for agents that ask. Nothing stays behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::model::{Report, SyntaxRules, Task, TaskId, Timestamp, VerificationPlan};
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{Trees, Verification, verify};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::run::is_in_git;
use super::{directory, settings, workspace};
use crate::error::CliError;
use crate::freeze;
use crate::local::Home;

/// A project's own checks, ready to be carried out.
#[derive(Debug)]
pub(super) struct Checks {
    /// What must hold.
    pub(super) plan: VerificationPlan,
    /// Where.
    pub(super) dir: PathBuf,
    /// Within this time.
    pub(super) limit: Duration,
}

/// The checks of the project that a directory belongs to: nothing where it has none, and within that
/// why they cannot be run.
pub(super) fn checks_of(
    dir: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Option<Result<Checks, CliError>>, CliError> {
    let dir = directory(dir)?;
    let settings = settings(&dir, &Flags::default(), environment)?;
    let dir = workspace(&settings, &dir);
    let settings = settings.resolved;
    if settings.checks.is_empty() {
        return Ok(None);
    }
    let in_git = is_in_git(&Home::find(environment)?, &dir)?;
    let plan = freeze::verification(&Task::default(), &settings, &dir, in_git);
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    Ok(Some(plan.map(|plan| Checks { plan, dir, limit })))
}

/// Carries out a plan in a directory.
pub(super) async fn once(
    plan: VerificationPlan,
    dir: &Path,
    limit: Duration,
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    once_unless(plan, dir, limit, progress, &CancellationToken::new()).await
}

/// Carries out a plan in a directory, and looks at the files that were changed there.
pub(super) async fn once_since(
    plan: VerificationPlan,
    dir: &Path,
    limit: Duration,
    (since, syntax): (Option<Trees>, Option<SyntaxRules>),
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    let never = CancellationToken::new();
    carry_out(plan, dir, limit, (since, syntax), progress, &never).await
}

/// Carries out a plan in a directory, unless somebody does not want to know any more.
pub(super) async fn once_unless(
    plan: VerificationPlan,
    dir: &Path,
    limit: Duration,
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    carry_out(plan, dir, limit, (None, None), progress, cancelled).await
}

async fn carry_out(
    plan: VerificationPlan,
    dir: &Path,
    limit: Duration,
    (since, syntax): (Option<Trees>, Option<SyntaxRules>),
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    let outputs = tempfile::tempdir().map_err(CliError::infrastructure)?;
    let verification = Verification {
        task_id: TaskId::new(Uuid::now_v7()),
        run_number: 1,
        plan,
        limit,
        workspace: dir.to_owned(),
        run_dir: outputs.path().to_owned(),
        tag: Uuid::now_v7().to_string(),
        lock: outputs.path().join("processes.lock"),
        supervisor: Supervisor::this_program(),
        trees: None,
        since,
        protection: None,
        syntax,
        session: None,
        task: String::new(),
        began: Timestamp::now(),
        baseline: Vec::new(),
        rerun_failed: false,
        last_green: Vec::new(),
        started_at: Timestamp::now(),
    };
    let verified = verify(&verification, progress, cancelled).await;
    verification.supervisor.retire().await;
    let mut report = verified.map_err(CliError::infrastructure)?;
    // The outputs go with this function, so nothing may point at them.
    report
        .checks
        .iter_mut()
        .for_each(|check| check.output_ref = None);
    Ok(report)
}

/// What the checks run on.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)
}
