//! Checks carried out once, outside any run: for `verify`, for `init`, which tries what it proposes,
//! and for agents that ask. Nothing stays behind.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    EnvironmentSpec, KnownFailures, Report, SandboxSpec, SetupSpec, SyntaxRules, Task, TaskId,
    Timestamp, VerificationPlan,
};
use selvedge_engine::activity::{Progress, Redacted};
use selvedge_engine::{Trees, Verification, verify};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::run::is_in_git;
use super::{directory, environment, settings, workspace};
use crate::error::CliError;
use crate::freeze;
use crate::local::Home;
use crate::secrets::supervisor_of_checks;
use crate::walls;

/// A project's own checks, ready to be carried out.
#[derive(Debug)]
pub(super) struct Checks {
    /// What must hold.
    pub(super) plan: VerificationPlan,
    /// Where.
    pub(super) dir: PathBuf,
    /// Tests that may fail.
    pub(super) known_failures: KnownFailures,
    /// Within this time.
    pub(super) limit: Duration,
    /// Behind these walls.
    pub(super) sandbox: SandboxSpec,
    /// What of our environment they see.
    pub(super) environment: EnvironmentSpec,
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
    let known_failures = freeze::known_failures(&Task::default(), &settings, &dir)?.known;
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    let (sandbox, environment) = (settings.sandbox, settings.environment);
    Ok(Some(plan.map(|plan| Checks {
        plan,
        dir,
        known_failures,
        limit,
        sandbox,
        environment,
    })))
}

/// Carries them out.
pub(super) async fn once(checks: &Checks, progress: &dyn Progress) -> Result<Report, CliError> {
    once_unless(checks, progress, &CancellationToken::new()).await
}

/// Carries them out, and looks at the files that were changed there.
pub(super) async fn once_since(
    checks: &Checks,
    changed: (Option<Trees>, Option<SyntaxRules>),
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    carry_out(checks, changed, progress, &CancellationToken::new()).await
}

/// Carries them out, unless somebody does not want to know any more.
pub(super) async fn once_unless(
    checks: &Checks,
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    carry_out(checks, (None, None), progress, cancelled).await
}

async fn carry_out(
    checks: &Checks,
    (since, syntax): (Option<Trees>, Option<SyntaxRules>),
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    let home = Home::find(&environment())?;
    let outputs = outputs(&home).map_err(CliError::infrastructure)?;
    let raised = walls::raise(&checks.sandbox, &checks.dir, &home).await?;
    let dir = checks.dir.as_path();
    let verification = Verification {
        room: None,
        task_id: TaskId::new(Uuid::now_v7()),
        run_number: 1,
        plan: checks.plan.clone(),
        limit: checks.limit,
        workspace: dir.to_owned(),
        run_dir: outputs.path().to_owned(),
        tag: Uuid::now_v7().to_string(),
        lock: outputs.path().join("processes.lock"),
        supervisor: supervisor_of_checks(&checks.environment, dir).within(raised.checks),
        trees: None,
        since,
        protection: None,
        syntax,
        session: None,
        task: String::new(),
        began: Timestamp::now(),
        baseline: Vec::new(),
        known_failures: checks.known_failures.clone(),
        test_base: None,
        written_before: None,
        setup: SetupSpec::default(),
        changed_tools: None,
        allow: Vec::new(),
        expect_test_changes: Vec::new(),
        rerun_failed: false,
        last_green: Vec::new(),
        started_at: Timestamp::now(),
    };
    let redactor = verification.supervisor.redactor();
    let verified = verify(&verification, &Redacted::new(progress, redactor), cancelled).await;
    verification.supervisor.retire().await;
    let mut report = verified.map_err(CliError::infrastructure)?;
    if verification.since.is_none() && !checks.known_failures.ids().is_empty() {
        // Nothing is known of an earlier time.
        compare(&[], &checks.known_failures, &mut report);
    }
    report = redactor.record(report).map_err(CliError::infrastructure)?;
    // The outputs go with this function, so nothing may point at them.
    report
        .checks
        .iter_mut()
        .for_each(|check| check.output_ref = None);
    Ok(report)
}

/// Where what they print is kept meanwhile: with our own state, which they cannot read.
pub(super) fn outputs(home: &Home) -> io::Result<TempDir> {
    let below = std::fs::create_dir_all(home.root());
    match below.and_then(|()| tempfile::tempdir_in(home.root())) {
        Err(_) => tempfile::tempdir(),
        made => made,
    }
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
