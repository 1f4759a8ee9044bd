//! Runs checks once, outside of a run: for `verify`, for `init`, which tries the checks that it proposes, and for
//! agents (`hook`, `mcp`).

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::machine::compare;
use selvedge_core::model::{
    EnvironmentSpec, KnownFailures, Report, SandboxSpec, SetupSpec, SyntaxRules, Task, TaskId,
    Timestamp, TreeId, VerificationPlan,
};
use selvedge_engine::activity::{Progress, RedactingProgress};
use selvedge_engine::process::Supervisor;
use selvedge_engine::workspace::Workspace;
use selvedge_engine::{
    CheckError, MOVED_GIT_DIRS, OpenVerificationRoom, Verification, VerificationRoomSlot,
    VerificationTrees, verify,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::run::is_in_git;
use super::{canonical_directory, environment, load_settings, working_directory};
use crate::error::CliError;
use crate::local::StateDir;
use crate::resolve;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// The checks of a project, ready to run.
#[derive(Debug)]
pub(super) struct ProjectChecks {
    pub(super) plan: VerificationPlan,
    /// The directory that they run in.
    pub(super) dir: PathBuf,
    pub(super) known_failures: KnownFailures,
    /// Time limit of all checks together.
    pub(super) limit: Duration,
    pub(super) sandbox: SandboxSpec,
    /// The environment variables that they see.
    pub(super) environment: EnvironmentSpec,
}

/// Loads the checks of the project that a directory belongs to. `None` if it has no checks; the inner error contains
/// the reason they cannot run.
pub(super) fn load_project_checks(
    dir: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Option<Result<ProjectChecks, CliError>>, CliError> {
    let dir = canonical_directory(dir)?;
    let settings = load_settings(&dir, &Flags::default(), environment)?;
    let dir = working_directory(&settings, &dir);
    let settings = settings.resolved;
    if settings.checks.is_empty() {
        return Ok(None);
    }
    let in_git = is_in_git(&StateDir::from_environment(environment)?, &dir)?;
    let plan = resolve::verification_plan(&Task::default(), &settings, &dir, in_git);
    let known_failures = resolve::resolve_known_failures(&Task::default(), &settings, &dir)?.known;
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    let (sandbox, environment) = (settings.sandbox, settings.environment);
    Ok(Some(plan.map(|plan| ProjectChecks {
        plan,
        dir,
        known_failures,
        limit,
        sandbox,
        environment,
    })))
}

/// A verification room for checks that belong to no run.
pub(super) struct CheckRoom {
    pub(super) origin: Workspace,
    /// The files that it began with.
    pub(super) tree: TreeId,
    /// The folder that contains it.
    pub(super) folder: TempDir,
    pub(super) slot: VerificationRoomSlot,
}

impl CheckRoom {
    /// Fills a room with the current files of the checks' directory. `None` if it cannot be mounted there: the sandbox
    /// has no mounts, or the files cannot be kept as a snapshot.
    pub(super) async fn create(
        checks: &ProjectChecks,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, CliError> {
        let home = StateDir::from_environment(&environment())?;
        let sandboxes = sandbox_setup::set_up_sandbox(&checks.sandbox, &checks.dir, &home).await?;
        let folder = create_output_dir(&home).map_err(CliError::infrastructure)?;
        let Ok(origin) = home.open_workspace(&checks.dir) else {
            return Ok(None);
        };
        let Ok(snapshot) = origin.snapshot("checks outside of a run") else {
            return Ok(None);
        };
        let slot = VerificationRoomSlot::default();
        slot.note_snapshot(&snapshot);
        let room = Self {
            origin,
            tree: snapshot.tree,
            folder,
            slot,
        };
        let supervisor =
            checks_supervisor(&checks.environment, &checks.dir).with_sandbox(sandboxes.checks);
        let opened = room.open(&supervisor, progress).await;
        supervisor.shutdown().await;
        Ok(matches!(opened, Ok(Some(_))).then_some(room))
    }

    async fn open(
        &self,
        supervisor: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<Option<OpenVerificationRoom>, CheckError> {
        let (origin, tree, folder) = (&self.origin, &self.tree, self.folder.path());
        self.slot
            .open(origin, tree, true, folder, supervisor, progress)
            .await
    }
}

impl Drop for CheckRoom {
    fn drop(&mut self) {
        self.slot.remove(&self.origin, self.folder.path());
    }
}

pub(super) async fn run_checks(
    checks: &ProjectChecks,
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    run_checks_cancellable(checks, progress, &CancellationToken::new()).await
}

/// Runs the checks in a verification room.
pub(super) async fn run_checks_in_room(
    checks: &ProjectChecks,
    room: &CheckRoom,
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    let changes = InspectedChanges::default();
    execute_checks(checks, changes, Some(room), progress, cancelled).await
}

/// Changed files that are inspected while the checks run.
#[derive(Default)]
pub(super) struct InspectedChanges {
    /// The trees between which files changed.
    pub(super) trees: Option<VerificationTrees>,
    pub(super) syntax: Option<SyntaxRules>,
}

/// Runs the checks, and inspects the changed files.
pub(super) async fn run_checks_with_changes(
    checks: &ProjectChecks,
    changes: InspectedChanges,
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    execute_checks(checks, changes, None, progress, &CancellationToken::new()).await
}

pub(super) async fn run_checks_cancellable(
    checks: &ProjectChecks,
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    let changes = InspectedChanges::default();
    execute_checks(checks, changes, None, progress, cancelled).await
}

async fn execute_checks(
    checks: &ProjectChecks,
    changes: InspectedChanges,
    room: Option<&CheckRoom>,
    progress: &dyn Progress,
    cancelled: &CancellationToken,
) -> Result<Report, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let outputs = create_output_dir(&home).map_err(CliError::infrastructure)?;
    let sandboxes = sandbox_setup::set_up_sandbox(&checks.sandbox, &checks.dir, &home).await?;
    let dir = checks.dir.as_path();
    let supervisor = checks_supervisor(&checks.environment, dir).with_sandbox(sandboxes.checks);
    let verification_room = match room {
        Some(room) => room.open(&supervisor, progress).await,
        None => Ok(None),
    };
    let verification_room = verification_room.map_err(CliError::infrastructure)?;
    let verification = Verification {
        verification_room,
        task_id: TaskId::new(Uuid::now_v7()),
        attempt_number: 1,
        plan: checks.plan.clone(),
        limit: checks.limit,
        workspace: dir.to_owned(),
        run_dir: outputs.path().to_owned(),
        tag: Uuid::now_v7().to_string(),
        lock: outputs.path().join("processes.lock"),
        supervisor,
        trees: None,
        base_trees: changes.trees,
        protection: None,
        syntax: changes.syntax,
        session: None,
        task: String::new(),
        run_started_at: Timestamp::now(),
        baseline: Vec::new(),
        known_failures: checks.known_failures.clone(),
        test_base: None,
        written_before: None,
        setup: SetupSpec::default(),
        changed_tools: None,
        allow: Vec::new(),
        expect_test_changes: Vec::new(),
        rerun_failed: false,
        passing_outputs: Vec::new(),
        started_at: Timestamp::now(),
    };
    let redactor = verification.supervisor.redactor();
    let redacting = RedactingProgress::new(progress, redactor);
    // Boxed, because its state is large.
    let verified = Box::pin(verify(&verification, &redacting, cancelled)).await;
    verification.supervisor.shutdown().await;
    if outputs.path().join(MOVED_GIT_DIRS).exists() {
        // Files that checks have created in the work tree are not deleted.
        let _ = outputs.keep();
    }
    let mut report = verified.map_err(CliError::infrastructure)?;
    if verification.base_trees.is_none() && !checks.known_failures.ids().is_empty() {
        // There is no baseline to compare with.
        compare(&[], &checks.known_failures, &mut report);
    }
    report = redactor
        .redact_record(report)
        .map_err(CliError::infrastructure)?;
    // The outputs are usually deleted when this function returns, so nothing may refer to them.
    report
        .checks
        .iter_mut()
        .for_each(|check| check.output_ref = None);
    Ok(report)
}

/// Creates the directory for the output of checks: in the state directory, which checks cannot read, or else in the
/// system's directory for temporary files.
pub(super) fn create_output_dir(home: &StateDir) -> io::Result<TempDir> {
    let created = std::fs::create_dir_all(home.root());
    match created.and_then(|()| tempfile::tempdir_in(home.root())) {
        Err(_) => tempfile::tempdir(),
        directory => directory,
    }
}

/// Builds the runtime that checks run on.
pub(super) fn build_runtime() -> Result<Runtime, CliError> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)
}
