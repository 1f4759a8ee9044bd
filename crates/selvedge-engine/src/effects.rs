//! The machine's effects, carried out: each kind by the room that knows how.

use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::guard::{BadGlob, Protection};
use selvedge_core::machine::{Input, Pending, Run};
use selvedge_core::model::{
    Baseline, CheckStatus, EffectId, EffectKind, GateReport, Report, Sandbox, SessionLimits,
    SessionOutcome, SessionStatus, SnapshotMoment, Step, Timestamp, TreeId, Unkept,
};
use tokio_util::sync::CancellationToken;

use crate::activity::Progress;
use crate::agents::env::{for_checks, ours};
use crate::agents::{Role, SessionRequest, agent_for};
use crate::checks::CheckAborted;
use crate::gates::{
    BaselineRun, Gate, OpenRoom, Place, Remembered, Rooms, Setup, Trees, Verification,
    compose_base, remove_room, verify,
};
use crate::process::Supervisor;
use crate::sandbox::{Steering, held};
use crate::tools;
use crate::unkept;
use crate::workspace::{self, Room, Workspace, WorkspaceError};

/// The file in the run's directory that is there once dependencies were installed in the clone.
const SET_UP: &str = "set-up";

/// Where a run's effects take place.
#[derive(Debug, Clone)]
pub struct Site {
    /// The run's own directory: prompts, transcripts, outputs. Exists, outside the workspace.
    pub run_dir: PathBuf,
    /// Snapshots of the workspace; absent when the run takes none.
    pub workspace: Option<Workspace>,
    /// Where it is remembered what checks said of trees; shared by all runs, made when missing.
    pub remembered: PathBuf,
    /// The verification room of the run.
    pub rooms: Rooms,
    /// How to start an agent's processes.
    pub agents: Supervisor,
    /// How to start a check's: never by a supervisor that an agent could have got hold of.
    pub checks: Supervisor,
}

impl Site {
    /// The lock that is held for as long as anything of the run's process trees lives.
    pub fn lock(&self) -> PathBuf {
        self.run_dir.join("processes.lock")
    }

    /// Carries out one effect. No answer means that it was stopped before it had one; it stays
    /// pending.
    pub(crate) async fn carry_out(
        &self,
        run: &Run,
        pending: &Pending,
        now: Timestamp,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Option<Input> {
        let effect = pending.id;
        match &pending.kind {
            EffectKind::Snapshot { moment } => {
                if *moment == SnapshotMoment::Start
                    && let Err(aborted) = Box::pin(self.set_up(run, progress, cancel)).await
                {
                    return aborted_input(effect, aborted);
                }
                Some(self.snapshot(run, effect, *moment).await)
            }
            EffectKind::Restore { tree } => Some(self.restore(effect, tree.clone()).await),
            EffectKind::Baseline => match self.baseline(run, progress, cancel).await {
                Ok(baseline) => Some(Input::BaselineTaken {
                    effect,
                    baseline: Box::new(baseline),
                }),
                Err(aborted) => aborted_input(effect, aborted),
            },
            EffectKind::Execute { run_number } => {
                let prepared = Box::pin(self.prepare_session(run, progress, cancel)).await;
                if let Err(failed) = prepared {
                    return Some(Input::SessionEnded {
                        effect,
                        outcome: failed,
                    });
                }
                let outcome = self.execute(run, *run_number, progress, cancel).await;
                Some(Input::SessionEnded {
                    effect,
                    outcome: Box::new(outcome),
                })
            }
            EffectKind::Verify { run_number } => {
                // On the heap: it is the largest of the effects.
                let verified = Box::pin(self.verify(run, *run_number, now, progress, cancel));
                match verified.await {
                    Ok(report) => Some(Input::Verified {
                        effect,
                        report: Box::new(report),
                    }),
                    Err(aborted) => aborted_input(effect, aborted),
                }
            }
            EffectKind::Judge { run_number, tier } => {
                match self.judge(run, *run_number, *tier, progress, cancel).await {
                    Ok(gate) => Some(Input::Judged {
                        effect,
                        gate: Box::new(gate),
                    }),
                    Err(aborted) => aborted_input(effect, aborted),
                }
            }
        }
    }

    async fn verify(
        &self,
        run: &Run,
        run_number: u32,
        now: Timestamp,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Report, CheckAborted> {
        let room = self.open_room(run, false, progress).await?;
        if room.is_none() {
            tools::expect_changes_by_checks(&self.run_dir);
        }
        let verification = self.verification(run, run_number, room, now);
        verify(&verification, progress, cancel).await
    }

    /// Removes what only a run that goes on needs.
    pub(crate) async fn clear_away(&self) {
        let run_dir = self.run_dir.clone();
        let remove = move |workspace: &Workspace| {
            remove_room(workspace, &run_dir);
            Ok(())
        };
        // A run without snapshots has no room.
        let _ = self.with_workspace(remove).await;
    }

    /// The room that the run's checks are run in; none where they run in the workspace. `is_untouched` says whether no
    /// agent has run in the workspace yet.
    async fn open_room(
        &self,
        run: &Run,
        is_untouched: bool,
        progress: &dyn Progress,
    ) -> Result<Option<OpenRoom>, CheckAborted> {
        let (Some(workspace), Some(start)) = (&self.workspace, &run.start_tree) else {
            return Ok(None);
        };
        let rooms = &self.rooms;
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

    async fn judge(
        &self,
        run: &Run,
        run_number: u32,
        tier: u8,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<GateReport, CheckAborted> {
        let attempt = run.attempt(run_number);
        let judged = attempt.and_then(|attempt| Some((attempt, attempt.report.as_ref()?)));
        let (Some(judging), Some((attempt, report))) = (&run.spec.judging, judged) else {
            let error = format!("nobody is to judge attempt {run_number}");
            return Err(CheckAborted::Infrastructure(error));
        };
        let trees = run.start_tree.clone().zip(attempt.tree.clone());
        let trees = self.workspace.clone().zip(trees);
        let gate = Gate {
            task: &run.spec.description,
            criteria: run.spec.acceptance_criteria.as_deref(),
            report,
            session: attempt.session.as_ref(),
            trees: trees
                .map(|(workspace, (start, judged))| Trees::in_place(workspace, judged, start)),
            tier,
            judging,
            left: run.left(),
            limits: run.spec.limits,
            run_dir: &self.run_dir,
            tag: format!("{}.{run_number}", run.run_id),
            lock: self.lock(),
            supervisor: &self.checks,
        };
        gate.ask(progress, cancel).await
    }

    /// Installs dependencies in a fresh clone, before its first tree is kept, and again where the run goes on in
    /// another clone.
    async fn set_up(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), CheckAborted> {
        let (setup, done) = (&run.spec.setup, self.run_dir.join(SET_UP));
        // A later subtask of a plan finds what was installed for the first one.
        let is_needed = setup.in_clone && !setup.run.is_empty() && run.spec.test_base.is_none();
        if !is_needed || done.exists() {
            return Ok(());
        }
        let place = Place {
            workspace: run.spec.workspace.clone(),
            files: run.spec.workspace.clone(),
            run_dir: self.run_dir.clone(),
            tag: format!("{}.start", run.run_id),
            outputs: "start".to_owned(),
            last_green: Vec::new(),
            lock: self.lock(),
            supervisor: self.checks.clone(),
            is_baseline: true,
            setup: run.spec.setup.clone(),
        };
        let setup = Setup {
            place: &place,
            room: None,
            progress,
            cancel,
        };
        setup.install().await?;
        // Without the mark it is done once more.
        let _ = std::fs::write(done, "");
        Ok(())
    }

    async fn snapshot(&self, run: &Run, effect: EffectId, moment: SnapshotMoment) -> Input {
        let name = snapshot_name(run, moment);
        let run_dir = self.run_dir.clone();
        let taken = self
            .with_workspace(move |workspace| {
                let snapshot = workspace.snapshot_kept(&name)?;
                let (mut unkept, mut changed_tools) = (None, None);
                match moment {
                    SnapshotMoment::Start => {
                        unkept = unkept::watch(workspace.dir(), &snapshot.left_out, &run_dir);
                        tools::note_start(workspace, &snapshot, &run_dir)?;
                    }
                    SnapshotMoment::After => {
                        changed_tools = tools::find_changes(workspace, &snapshot, &run_dir)?;
                    }
                    SnapshotMoment::Rescue => {}
                }
                Ok((snapshot, unkept, changed_tools))
            })
            .await;
        match taken {
            Err(error) => Input::Failed {
                effect,
                error: format!("cannot keep the tree: {error}"),
            },
            Ok((snapshot, unkept, changed_tools)) => Input::Snapshotted {
                effect,
                tree: TreeId::new(snapshot.tree.as_str()),
                left_out: snapshot.left_out.total,
                unkept: unkept.map(Box::new),
                changed_tools: changed_tools.map(Box::new),
            },
        }
    }

    async fn prepare_session(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), Box<SessionOutcome>> {
        let failed = |status, error| Err(Box::new(SessionOutcome::failed(status, error)));
        let prepared = match self.set_up(run, progress, cancel).await {
            // What is built in the workspace by now was not built by an agent.
            Ok(()) if run.attempts.len() == 1 => {
                self.open_room(run, true, progress).await.map(drop)
            }
            done => done,
        };
        match prepared {
            Ok(()) => {}
            Err(error @ CheckAborted::Cancelled) => {
                return failed(SessionStatus::Cancelled, error.to_string());
            }
            Err(CheckAborted::Infrastructure(error)) => {
                return failed(SessionStatus::Infra, error);
            }
        }
        let expected = match self.workspace {
            Some(_) => self.with_workspace(Room::expect_agent).await,
            None => Ok(()),
        };
        match expected.and(self.renew_tools(run).await) {
            Ok(()) => Ok(()),
            Err(error) => failed(
                SessionStatus::Infra,
                format!("cannot note the installed tools: {error}"),
            ),
        }
    }

    /// Notes the installed tools again where checks have run since they were noted.
    async fn renew_tools(&self, run: &Run) -> Result<(), String> {
        let run_dir = self.run_dir.clone();
        if self.workspace.is_none() || !tools::is_outdated(&run_dir) {
            return Ok(());
        }
        let baseline = run.baseline.clone();
        self.with_workspace(move |workspace| {
            let written = baseline.as_ref().map(|it| it.written_files.as_slice());
            tools::renew(workspace, &run_dir, written)
        })
        .await
    }

    async fn restore(&self, effect: EffectId, tree: TreeId) -> Input {
        let restored = self
            .with_workspace(move |workspace| {
                workspace.restore(&workspace::TreeId::parse(tree.as_str())?)
            })
            .await;
        match restored {
            Err(error) => Input::Failed {
                effect,
                error: format!("cannot put the tree back: {error}"),
            },
            Ok(restored) => Input::Restored {
                effect,
                replaced: Some(TreeId::new(restored.kept_back.as_str())),
            },
        }
    }

    async fn with_workspace<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, String> {
        let Some(workspace) = self.workspace.clone() else {
            return Err("this run takes no snapshots".to_owned());
        };
        let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
        done.map_err(|panic| panic.to_string())?
            .map_err(|error| error.to_string())
    }

    async fn execute(
        &self,
        run: &Run,
        run_number: u32,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> SessionOutcome {
        let Some(attempt) = run.attempt(run_number) else {
            let error = format!("attempt {run_number} was never begun");
            return SessionOutcome::failed(SessionStatus::Infra, error);
        };
        let left = run.left_for_attempt();
        let limits = run.spec.limits;
        let wall_ms = left.wall_ms.unwrap_or(u64::MAX).min(limits.wall_ms);
        let agent = run.spec.agent_of(attempt.retry);
        let request = SessionRequest {
            agent: agent.clone(),
            prompt: attempt.prompt.clone(),
            previous_output: run
                .reported()
                .next_back()
                .and_then(|(before, _)| before.session.as_ref())
                .map(|session| session.text.clone()),
            run_number,
            role: Role::Worker,
            files: format!("attempt-{run_number}"),
            workspace: run.spec.workspace.clone(),
            limits: SessionLimits {
                wall_ms,
                max_turns: agent.max_turns.or(limits.max_turns),
                ..limits
            },
            cost_left: left.cost,
            tokens_left: left.tokens,
            run_dir: self.run_dir.clone(),
            tag: format!("{}.{run_number}", run.run_id),
            lock: self.lock(),
            supervisor: self.agents.clone(),
        };
        if let Some(walls) = self.agents.walls().cloned() {
            // Without them the agent's session makes what it needs.
            let _ = tokio::task::spawn_blocking(move || walls.prepare_caches()).await;
        }
        let before = Steering::note(&run.spec.workspace);
        let outcome = agent_for(agent).run(&request, progress, cancel).await;
        let outcome = SessionOutcome {
            sandbox: Some(Sandbox {
                put_back: before.put_back(),
                ..held(&self.agents)
            }),
            deleted_unkept: self.deleted_unkept(&run.spec.workspace).await.map(Box::new),
            ..outcome
        };
        let by_cap = wall_ms < limits.wall_ms && outcome.duration_ms >= wall_ms;
        if outcome.status == SessionStatus::Timeout && by_cap {
            let cap = run.spec.budget.wall_ms.unwrap_or_default() / 1_000;
            let error = format!("the run's cap of {cap} s on time was reached");
            return SessionOutcome {
                status: SessionStatus::Budget,
                error: Some(error),
                ..outcome
            };
        }
        outcome
    }

    /// What is gone of that which no snapshot keeps.
    async fn deleted_unkept(&self, workspace: &Path) -> Option<Unkept> {
        let (workspace, run_dir) = (workspace.to_owned(), self.run_dir.clone());
        let looked = move || unkept::find_deleted(&workspace, &run_dir);
        tokio::task::spawn_blocking(looked).await.ok().flatten()
    }

    async fn baseline(
        &self,
        run: &Run,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckAborted> {
        let room = self
            .open_room(run, run.attempts.is_empty(), progress)
            .await?;
        let trees = self.workspace.clone().zip(run.start_tree.clone());
        let mut trees =
            trees.map(|(workspace, start)| Trees::in_place(workspace, start.clone(), start));
        if let (Some(trees), Some(open)) = (&mut trees, &room) {
            open.go_to(trees);
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
            trees.settle(&trees.start).await?;
        }
        let composed = composed.transpose()?;
        if room.is_none() {
            tools::expect_changes_by_checks(&self.run_dir);
        }
        let baseline = BaselineRun {
            place: Place {
                workspace: run.spec.workspace.clone(),
                files: match &room {
                    Some(open) => open.tree().to_owned(),
                    None => run.spec.workspace.clone(),
                },
                run_dir: self.run_dir.clone(),
                tag: format!("{}.baseline", run.run_id),
                outputs: "baseline".to_owned(),
                last_green: Vec::new(),
                lock: self.lock(),
                supervisor: room
                    .as_ref()
                    .map_or_else(|| self.checks.clone(), OpenRoom::supervisor),
                is_baseline: true,
                setup: run.spec.setup.clone(),
            },
            steps: run.spec.steps(),
            limit: Duration::from_millis(run.spec.verification_timeout_ms),
            start: trees
                .as_ref()
                .map(|trees| (trees, composed.as_ref().unwrap_or(&trees.start))),
            remembered: Remembered::at(
                self.remembered.clone(),
                for_checks(self.checks.shown(), &ours()),
            ),
        };
        let taken = baseline.take(progress, cancel).await;
        if let (Some(_), Some(trees)) = (&composed, &trees) {
            trees.settle(&trees.start).await?;
        }
        taken
    }

    fn verification(
        &self,
        run: &Run,
        run_number: u32,
        room: Option<OpenRoom>,
        now: Timestamp,
    ) -> Verification {
        let judged = run
            .attempt(run_number)
            .and_then(|attempt| attempt.tree.clone());
        let trees = (self.workspace.clone(), judged, run.start_tree.clone());
        let before = |(index, step): (usize, &Step)| {
            run.baseline_of(index, step.kind, &step.target).cloned()
        };
        Verification {
            task_id: run.spec.task_id,
            run_number,
            plan: run.spec.verification.clone(),
            limit: Duration::from_millis(run.spec.verification_timeout_ms),
            workspace: run.spec.workspace.clone(),
            room,
            run_dir: self.run_dir.clone(),
            tag: format!("{}.{run_number}", run.run_id),
            lock: self.lock(),
            supervisor: self.checks.clone(),
            since: None,
            trees: match trees {
                (Some(workspace), Some(judged), Some(start)) => {
                    Some(Trees::in_place(workspace, judged, start))
                }
                _ => None,
            },
            // A glob that does not parse was refused before the run was created.
            protection: protection(run).ok(),
            syntax: run.spec.syntax.clone(),
            session: run
                .attempt(run_number)
                .and_then(|attempt| attempt.session.clone())
                .filter(|_| run.spec.tool_calls),
            task: run.spec.description.clone(),
            began: run.created_at,
            baseline: run.spec.steps().iter().enumerate().map(before).collect(),
            known_failures: run.spec.known_failures.clone(),
            test_base: run.spec.test_base.clone(),
            setup: run.spec.setup.clone(),
            written_before: run
                .baseline
                .as_ref()
                .map(|baseline| baseline.written_files.clone()),
            changed_tools: run
                .attempt(run_number)
                .and_then(|attempt| attempt.changed_tools.clone()),
            allow: run.spec.allow.clone(),
            expect_test_changes: run.spec.expect_test_changes.clone(),
            rerun_failed: run.spec.rerun_failed,
            last_green: self.last_green(run),
            started_at: now,
        }
    }

    /// For each check, the output that it had when it last passed.
    fn last_green(&self, run: &Run) -> Vec<Option<PathBuf>> {
        let mut last: Vec<Option<PathBuf>> = Vec::new();
        let before = run.baseline.iter().map(|baseline| &baseline.checks);
        let attempts = run.reported().map(|(_, report)| &report.checks);
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

fn protection(run: &Run) -> Result<Protection, BadGlob> {
    let spec = &run.spec;
    Protection::new(&spec.protect, &spec.allow)
}

/// No answer when it was stopped: the effect stays pending.
fn aborted_input(effect: EffectId, aborted: CheckAborted) -> Option<Input> {
    match aborted {
        CheckAborted::Cancelled => None,
        CheckAborted::Infrastructure(error) => Some(Input::Failed { effect, error }),
    }
}

/// The name under which a tree is kept: unique within the shadow directory, which many runs share.
fn snapshot_name(run: &Run, moment: SnapshotMoment) -> String {
    let run_id = run.run_id;
    match moment {
        SnapshotMoment::Start => format!("{run_id}/start"),
        SnapshotMoment::After => format!("{run_id}/{}", run.attempts.len()),
        SnapshotMoment::Rescue => format!("{run_id}/rescued-{}", run.rescued.len() + 1),
    }
}
