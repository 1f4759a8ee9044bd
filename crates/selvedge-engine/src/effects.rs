//! Runs the effects of the state machine, each with the module that implements it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::guard::{GlobError, Protection};
use selvedge_core::machine::Input;
use selvedge_core::model::{
    Baseline, CheckStatus, EffectId, EffectKind, ExcludedContent, GateReport, Report,
    SandboxReport, SessionLimits, SessionOutcome, SessionStatus, SnapshotReason, Step, Timestamp,
    TreeId,
};
use selvedge_core::run::{PendingEffect, Run};
use tokio_util::sync::CancellationToken;

use crate::activity::Progress;
use crate::agents::env::{check_env, host_env};
use crate::agents::{SessionRequest, SessionRole, agent_for};
use crate::check_error::CheckError;
use crate::excluded_files;
use crate::gates::{
    BaselineCache, BaselineRun, DependencyInstaller, JudgeGate, OpenVerificationRoom, ProtectedGit,
    Verification, VerificationContext, VerificationRoomSlot, VerificationTrees, compose_base,
    run_blocking, verify,
};
use crate::process::Supervisor;
use crate::sandbox::verified_restrictions;
use crate::tools;
use crate::workspace::{ProtectedSession, VerificationRoom, Workspace, WorkspaceError};

/// File in the run's directory that marks dependencies as installed in the clone.
const SETUP_MARKER: &str = "set-up";

/// Context of an error.
const CANNOT_RECORD_TOOLS: &str = "cannot record the installed tools";

/// A full disk stops a run, which can be resumed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DiskFullError(String);

/// The longest sleep before the clock is read again: the machine may be suspended meanwhile.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Returns when the clock has reached this time.
pub async fn wait_until(until: Timestamp) {
    while let Ok(left) = Duration::try_from(until.duration_since(Timestamp::now()))
        && !left.is_zero()
    {
        tokio::time::sleep(left.min(CLOCK_CHECK_INTERVAL)).await;
    }
}

/// Where a run's effects take place.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// The run's own directory for prompts, transcripts and outputs. Exists, outside the workspace.
    pub run_dir: PathBuf,
    /// Snapshots of the workspace; `None` if the run takes none.
    pub workspace: Option<Workspace>,
    /// Cache of baseline results by tree; shared by all runs, created if missing.
    pub baseline_cache: PathBuf,
    /// The verification room of the run.
    pub verification_rooms: VerificationRoomSlot,
    /// Starts the agent's processes.
    pub agents: Supervisor,
    /// Starts the checks' processes: never the agent's supervisor, which an agent could have taken over.
    pub checks: Supervisor,
}

impl RunContext {
    /// The lock that is held as long as any process of the run lives.
    pub fn lock(&self) -> PathBuf {
        self.run_dir.join("processes.lock")
    }

    /// Runs one effect. Returns `None` if it was stopped before it had a result; then it remains pending.
    ///
    /// # Errors
    ///
    /// The disk is full. The effect remains pending.
    pub(crate) async fn run_effect(
        &self,
        run: &Run,
        pending: &PendingEffect,
        now: Timestamp,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Option<Input>, DiskFullError> {
        let effect = pending.id;
        let done = match &pending.kind {
            EffectKind::Snapshot { moment } => {
                let installed = match moment {
                    SnapshotReason::Start => {
                        for supervisor in [&self.checks, &self.agents] {
                            supervisor.start_ahead(&run.run_id.to_string());
                        }
                        Box::pin(self.install_dependencies(run, progress, cancel)).await
                    }
                    SnapshotReason::After | SnapshotReason::Backup => Ok(()),
                };
                match installed {
                    Ok(()) => self.take_snapshot(run, effect, *moment).await,
                    Err(error) => Err(error),
                }
            }
            EffectKind::Restore { tree } => self.restore_snapshot(effect, tree.clone()).await,
            EffectKind::Baseline => {
                let taken = self.take_baseline(run, progress, cancel).await;
                taken.map(|baseline| Input::BaselineTaken {
                    effect,
                    baseline: Box::new(baseline),
                })
            }
            EffectKind::Execute { attempt_number } => {
                let outcome = match Box::pin(self.prepare_session(run, progress, cancel)).await {
                    Ok(()) => {
                        self.run_session(run, *attempt_number, progress, cancel)
                            .await
                    }
                    Err(CheckError::DiskFull(error)) => return Err(DiskFullError(error)),
                    Err(error @ CheckError::Cancelled) => {
                        SessionOutcome::failed(SessionStatus::Cancelled, error.to_string())
                    }
                    Err(CheckError::Infrastructure(error)) => {
                        SessionOutcome::failed(SessionStatus::Infra, error)
                    }
                };
                Ok(Input::SessionEnded {
                    effect,
                    outcome: Box::new(outcome),
                })
            }
            EffectKind::Wait { until } => {
                let waited = cancel.run_until_cancelled(wait_until(*until)).await;
                waited
                    .map(|()| Input::Waited { effect })
                    .ok_or(CheckError::Cancelled)
            }
            EffectKind::Verify { attempt_number } => {
                // Boxed: it is the largest of the effects.
                let verified = Box::pin(self.verify(run, *attempt_number, now, progress, cancel));
                verified.await.map(|report| Input::Verified {
                    effect,
                    report: Box::new(report),
                })
            }
            EffectKind::Judge {
                attempt_number,
                tier,
            } => {
                let judged = self.run_judges(run, *attempt_number, *tier, progress, cancel);
                judged.await.map(|gate| Input::Judged {
                    effect,
                    gate: Box::new(gate),
                })
            }
        };
        match done {
            Ok(input) => Ok(Some(input)),
            Err(CheckError::Cancelled) => Ok(None),
            Err(CheckError::Infrastructure(error)) => Ok(Some(Input::Failed { effect, error })),
            Err(CheckError::DiskFull(error)) => Err(DiskFullError(error)),
        }
    }

    async fn verify(
        &self,
        run: &Run,
        attempt_number: u32,
        now: Timestamp,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Report, CheckError> {
        let room = self.open_verification_room(run, false, progress).await?;
        if room.is_none() {
            tools::mark_outdated(&self.run_dir);
        }
        let verification = self.verification(run, attempt_number, room, now);
        verify(&verification, progress, cancel).await
    }

    /// Removes files that only an unfinished run needs.
    pub(crate) async fn remove_temporary_files(&self) {
        let (run_dir, rooms) = (self.run_dir.clone(), self.verification_rooms.clone());
        let remove = move |workspace: &Workspace| {
            rooms.remove(workspace, &run_dir);
            Ok(())
        };
        // A run without snapshots has no verification room.
        let _ = self
            .with_workspace("cannot remove the verification room", remove)
            .await;
    }

    /// The verification room for the run's checks; `None` if they run in the workspace. `is_untouched` states whether
    /// no agent has run in the workspace yet.
    async fn open_verification_room(
        &self,
        run: &Run,
        is_untouched: bool,
        progress: &dyn Progress,
    ) -> Result<Option<OpenVerificationRoom>, CheckError> {
        let (Some(workspace), Some(start)) = (&self.workspace, &run.start_tree) else {
            return Ok(None);
        };
        let rooms = &self.verification_rooms;
        rooms
            .open(
                workspace,
                start,
                is_untouched,
                &self.run_dir,
                &self.checks,
                progress,
            )
            .await
    }

    async fn run_judges(
        &self,
        run: &Run,
        attempt_number: u32,
        tier: u8,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<GateReport, CheckError> {
        let attempt = run.attempt(attempt_number);
        let judged = attempt.and_then(|attempt| Some((attempt, attempt.report.as_ref()?)));
        let (Some(judging), Some((attempt, report))) = (&run.spec.judging, judged) else {
            let error = format!("no judge is configured for attempt {attempt_number}");
            return Err(CheckError::Infrastructure(error));
        };
        let trees = run.start_tree.clone().zip(attempt.tree.clone());
        let trees = self.workspace.clone().zip(trees);
        let gate = JudgeGate {
            task: &run.spec.description,
            criteria: run.spec.acceptance_criteria.as_deref(),
            report,
            session: attempt.session.as_ref(),
            trees: trees.map(|(workspace, (start, judged))| {
                VerificationTrees::in_place(workspace, judged, start)
            }),
            tier,
            judging,
            remaining_budget: run.remaining_budget(),
            limits: run.spec.limits,
            run_dir: &self.run_dir,
            tag: format!("{}.{attempt_number}", run.run_id),
            lock: self.lock(),
            supervisor: &self.checks,
        };
        gate.run_judges(progress, cancel).await
    }

    /// Installs dependencies in a fresh clone before its first snapshot, and again if the run continues in another
    /// clone.
    async fn install_dependencies(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), CheckError> {
        let (setup, done) = (&run.spec.setup, self.run_dir.join(SETUP_MARKER));
        // A later subtask of a plan uses what was installed for the first one.
        let is_needed = setup.in_clone && !setup.run.is_empty() && run.spec.test_base.is_none();
        if !is_needed || done.exists() {
            return Ok(());
        }
        self.verification_rooms.forget_snapshot();
        let (workspace, session) = (&run.spec.workspace, ProtectedSession::Setup);
        let (git, supervisor) =
            ProtectedGit::begin(workspace, &self.run_dir, session, &self.checks).await?;
        let place = VerificationContext {
            workspace: run.spec.workspace.clone(),
            files_root: run.spec.workspace.clone(),
            run_dir: self.run_dir.clone(),
            tag: format!("{}.start", run.run_id),
            output_prefix: "start".to_owned(),
            passing_outputs: Vec::new(),
            lock: self.lock(),
            supervisor,
            is_baseline: true,
            setup: run.spec.setup.clone(),
            setup_ms: Arc::default(),
        };
        let setup = DependencyInstaller {
            context: &place,
            verification_room: None,
            progress,
            cancel,
        };
        let installed = setup.install().await;
        git.end().await;
        installed?;
        // Without the marker they are installed once more.
        let _ = std::fs::write(done, "");
        Ok(())
    }

    async fn take_snapshot(
        &self,
        run: &Run,
        effect: EffectId,
        moment: SnapshotReason,
    ) -> Result<Input, CheckError> {
        let name = snapshot_name(run, moment);
        let run_dir = self.run_dir.clone();
        self.verification_rooms.forget_snapshot();
        let (snapshot, unkept, changed_tools) = self
            .with_workspace("cannot take a snapshot", move |workspace| {
                let (snapshot, changed_tools) =
                    workspace.snapshot_kept_beside(&name, |folders| match moment {
                        SnapshotReason::Start => {
                            tools::record_initial(workspace, folders, &run_dir).map(|()| None)
                        }
                        SnapshotReason::After => tools::find_changes(workspace, folders, &run_dir),
                        SnapshotReason::Backup => Ok(None),
                    })?;
                let unkept = match moment {
                    SnapshotReason::Start => excluded_files::record_excluded(
                        workspace.dir(),
                        &snapshot.excluded,
                        &run_dir,
                    ),
                    SnapshotReason::After | SnapshotReason::Backup => None,
                };
                Ok((snapshot, unkept, changed_tools?))
            })
            .await?;
        // A backup is followed by a restore.
        if moment != SnapshotReason::Backup {
            self.verification_rooms.note_snapshot(&snapshot);
        }
        Ok(Input::Snapshotted {
            effect,
            tree: snapshot.tree,
            left_out: snapshot.excluded.total,
            unkept: unkept.map(Box::new),
            changed_tools: changed_tools.map(Box::new),
        })
    }

    async fn prepare_session(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), CheckError> {
        self.install_dependencies(run, progress, cancel).await?;
        // No agent has run yet, so the build output in the workspace can be trusted.
        if run.attempts.len() == 1 && !self.verification_rooms.is_filled() {
            self.open_verification_room(run, true, progress).await?;
        }
        if self.workspace.is_some() {
            self.with_workspace(CANNOT_RECORD_TOOLS, VerificationRoom::record_agent)
                .await?;
        }
        self.refresh_tool_manifest(run).await
    }

    /// Records the installed tools again if checks have run since the last record.
    async fn refresh_tool_manifest(&self, run: &Run) -> Result<(), CheckError> {
        let run_dir = self.run_dir.clone();
        if self.workspace.is_none() || !tools::is_outdated(&run_dir) {
            return Ok(());
        }
        let baseline = run.baseline.clone();
        self.with_workspace(CANNOT_RECORD_TOOLS, move |workspace| {
            let written = baseline.as_ref().map(|it| it.written_files.as_slice());
            tools::refresh_manifest(workspace, &run_dir, written)
        })
        .await
    }

    async fn restore_snapshot(&self, effect: EffectId, tree: TreeId) -> Result<Input, CheckError> {
        self.verification_rooms.forget_snapshot();
        let restored = self
            .with_workspace("cannot restore the snapshot", move |workspace| {
                workspace.restore(&tree)
            })
            .await?;
        Ok(Input::Restored {
            effect,
            replaced: Some(restored.backup_tree),
        })
    }

    /// Runs a blocking operation on the workspace of a run with snapshots.
    async fn with_workspace<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, CheckError> {
        let Some(workspace) = &self.workspace else {
            let error = format!("{what}: this run takes no snapshots");
            return Err(CheckError::Infrastructure(error));
        };
        run_blocking(workspace, what, work).await
    }

    async fn run_session(
        &self,
        run: &Run,
        attempt_number: u32,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> SessionOutcome {
        let Some(attempt) = run.attempt(attempt_number) else {
            let error = format!("attempt {attempt_number} was never started");
            return SessionOutcome::failed(SessionStatus::Infra, error);
        };
        let remaining = run.remaining_for_attempt();
        let limits = run.spec.limits;
        let wall_ms = remaining
            .duration_ms
            .unwrap_or(u64::MAX)
            .min(limits.wall_ms);
        let agent = run.spec.agent_of(attempt.retry);
        self.verification_rooms.forget_snapshot();
        let (workspace, session) = (&run.spec.workspace, ProtectedSession::Agent);
        let begun = ProtectedGit::begin(workspace, &self.run_dir, session, &self.agents).await;
        let (git, supervisor) = match begun {
            Ok(begun) => begun,
            Err(error) => return SessionOutcome::failed(SessionStatus::Infra, error.to_string()),
        };
        let request = SessionRequest {
            agent: agent.clone(),
            prompt: attempt.prompt.clone(),
            previous_output: run
                .verified_attempts()
                .next_back()
                .and_then(|(before, _)| before.session.as_ref())
                .map(|session| session.text.clone()),
            attempt_number,
            role: SessionRole::Implementer,
            file_prefix: format!("attempt-{attempt_number}"),
            workspace: run.spec.workspace.clone(),
            limits: SessionLimits {
                wall_ms,
                max_turns: agent.max_turns.or(limits.max_turns),
                ..limits
            },
            cost_left: remaining.cost,
            tokens_left: remaining.tokens,
            run_dir: self.run_dir.clone(),
            tag: format!("{}.{attempt_number}", run.run_id),
            lock: self.lock(),
            supervisor,
        };
        if let Some(sandbox) = self.agents.sandbox().cloned() {
            // If this fails, the agent's session creates the caches that it needs.
            let _ = tokio::task::spawn_blocking(move || sandbox.prepare_caches()).await;
        }
        let outcome = agent_for(agent).run(&request, progress, cancel).await;
        let outcome = SessionOutcome {
            sandbox: Some(SandboxReport {
                put_back: git.end().await,
                ..verified_restrictions(&self.agents)
            }),
            deleted_unkept: self
                .find_deleted_excluded(&run.spec.workspace)
                .await
                .map(Box::new),
            ..outcome
        };
        let by_cap = wall_ms < limits.wall_ms && outcome.duration_ms >= wall_ms;
        if outcome.status == SessionStatus::Timeout && by_cap {
            let cap = run.spec.budget.duration_ms.unwrap_or_default() / 1_000;
            let error = format!("the run's time limit of {cap} s was reached");
            return SessionOutcome {
                status: SessionStatus::Budget,
                error: Some(error),
                ..outcome
            };
        }
        outcome
    }

    /// Finds deleted files among those that no snapshot contains.
    async fn find_deleted_excluded(&self, workspace: &Path) -> Option<ExcludedContent> {
        let (workspace, run_dir) = (workspace.to_owned(), self.run_dir.clone());
        let looked = move || excluded_files::find_deleted(&workspace, &run_dir);
        tokio::task::spawn_blocking(looked).await.ok().flatten()
    }

    async fn take_baseline(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckError> {
        let room = self
            .open_verification_room(run, run.attempts.is_empty(), progress)
            .await?;
        let trees = self.workspace.clone().zip(run.start_tree.clone());
        let mut trees = trees
            .map(|(workspace, start)| VerificationTrees::in_place(workspace, start.clone(), start));
        if let (Some(trees), Some(open)) = (&mut trees, &room) {
            open.retarget_trees(trees);
        }
        let composed = match (&trees, &run.spec.test_base) {
            (Some(trees), Some(test_base)) => {
                let name = format!("{}/base", run.run_id);
                let steps = run.spec.steps();
                Some(compose_base(trees, test_base, steps, &run.spec, name).await)
            }
            _ => None,
        };
        if let (Some(Err(_)), Some(trees)) = (&composed, &trees) {
            trees.ensure_tree(&trees.start).await?;
        }
        let composed = composed.transpose()?;
        let (mut git, mut supervisor) = (None, self.checks.clone());
        if let Some(open) = &room {
            supervisor = open.supervisor();
        } else {
            tools::mark_outdated(&self.run_dir);
            let (workspace, session) = (&run.spec.workspace, ProtectedSession::Check);
            let (begun, protected) =
                ProtectedGit::begin(workspace, &self.run_dir, session, &supervisor).await?;
            (git, supervisor) = (Some(begun), protected);
        }
        let baseline = BaselineRun {
            room: room.as_ref(),
            context: VerificationContext {
                workspace: run.spec.workspace.clone(),
                files_root: match &room {
                    Some(open) => open.tree().to_owned(),
                    None => run.spec.workspace.clone(),
                },
                run_dir: self.run_dir.clone(),
                tag: format!("{}.baseline", run.run_id),
                output_prefix: "baseline".to_owned(),
                passing_outputs: Vec::new(),
                lock: self.lock(),
                supervisor,
                is_baseline: true,
                setup: run.spec.setup.clone(),
                setup_ms: Arc::default(),
            },
            steps: run.spec.steps(),
            limit: Duration::from_millis(run.spec.verification_timeout_ms),
            start: trees
                .as_ref()
                .map(|trees| (trees, composed.as_ref().unwrap_or(&trees.start))),
            cache: BaselineCache::new(
                self.baseline_cache.clone(),
                tools::installed_id(&self.run_dir),
                check_env(self.checks.env_allowlist(), &host_env()),
            ),
        };
        let taken = baseline.run_or_reuse(progress, cancel).await;
        if let Some(git) = git {
            git.end().await;
        }
        if let (Some(_), Some(trees)) = (&composed, &trees) {
            trees.ensure_tree(&trees.start).await?;
        }
        taken
    }

    fn verification(
        &self,
        run: &Run,
        attempt_number: u32,
        room: Option<OpenVerificationRoom>,
        now: Timestamp,
    ) -> Verification {
        let judged = run
            .attempt(attempt_number)
            .and_then(|attempt| attempt.tree.clone());
        let trees = (self.workspace.clone(), judged, run.start_tree.clone());
        let before = |(index, step): (usize, &Step)| {
            run.baseline_of(index, step.kind, &step.target).cloned()
        };
        Verification {
            task_id: run.spec.task_id,
            attempt_number,
            plan: run.spec.verification.clone(),
            limit: Duration::from_millis(run.spec.verification_timeout_ms),
            workspace: run.spec.workspace.clone(),
            verification_room: room,
            run_dir: self.run_dir.clone(),
            tag: format!("{}.{attempt_number}", run.run_id),
            lock: self.lock(),
            supervisor: self.checks.clone(),
            base_trees: None,
            trees: match trees {
                (Some(workspace), Some(judged), Some(start)) => {
                    Some(VerificationTrees::in_place(workspace, judged, start))
                }
                _ => None,
            },
            // An invalid glob was rejected before the run was created.
            protection: protection(run).ok(),
            syntax: run.spec.syntax.clone(),
            session: run
                .attempt(attempt_number)
                .and_then(|attempt| attempt.session.clone())
                .filter(|_| run.spec.fail_on_unresolved_write_errors),
            task: run.spec.description.clone(),
            run_started_at: run.created_at,
            baseline: run.spec.steps().iter().enumerate().map(before).collect(),
            known_failures: run.spec.known_failures.clone(),
            test_base: run.spec.test_base.clone(),
            setup: run.spec.setup.clone(),
            written_before: run
                .baseline
                .as_ref()
                .map(|baseline| baseline.written_files.clone()),
            changed_tools: run
                .attempt(attempt_number)
                .and_then(|attempt| attempt.changed_tools.clone()),
            allow: run.spec.allow.clone(),
            expect_test_changes: run.spec.expect_test_changes.clone(),
            rerun_failed: run.spec.rerun_failed,
            passing_outputs: self.passing_outputs(run),
            started_at: now,
        }
    }

    /// For each check, its output when it last passed.
    fn passing_outputs(&self, run: &Run) -> Vec<Option<PathBuf>> {
        let mut last: Vec<Option<PathBuf>> = Vec::new();
        let before = run.baseline.iter().map(|baseline| &baseline.checks);
        let attempts = run.verified_attempts().map(|(_, report)| &report.checks);
        for checks in before.chain(attempts) {
            last.resize(last.len().max(checks.len()), None);
            for (known, check) in last.iter_mut().zip(checks) {
                let passed = check.status == CheckStatus::Pass;
                if let Some(output) = check.output_ref.as_ref().filter(|_| passed) {
                    *known = Some(self.run_dir.join(&output.file));
                }
            }
        }
        last
    }
}

fn protection(run: &Run) -> Result<Protection, GlobError> {
    let spec = &run.spec;
    Protection::new(&spec.protect, &spec.allow)
}

/// The name of a snapshot: unique within the shadow directory, which many runs share.
fn snapshot_name(run: &Run, moment: SnapshotReason) -> String {
    let run_id = run.run_id;
    match moment {
        SnapshotReason::Start => format!("{run_id}/start"),
        SnapshotReason::After => format!("{run_id}/{}", run.attempts.len()),
        SnapshotReason::Backup => format!("{run_id}/rescued-{}", run.backup_trees.len() + 1),
    }
}
