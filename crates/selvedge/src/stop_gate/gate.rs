//! Handles the events of a session: records where the work begins, and verifies it when the agent wants to stop.

use std::path::{Path, PathBuf};

use selvedge_core::config::ResolvedConfig;
use selvedge_core::export::ReportInput;
use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{
    Baseline, EffectKind, Outcome, RunId, SessionOutcome, SessionStatus, SnapshotReason, Task,
    Timestamp,
};
use selvedge_core::prompt::parse_cannot_satisfy;
use selvedge_core::route::session_agent;
use selvedge_core::run::{PendingEffect, Phase, Run, RunControl};
use selvedge_engine::RunJournal;
use selvedge_engine::agents::TEXT_LIMIT;
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::baseline;
use super::protocol::{GateAnswer, GateEvent, HookAgent};
use super::session::{GateSession, SessionTask, StartTrees, TurnStart};
use super::store::{SessionFolder, load_baseline, lock_directory};
use super::verification::{AttemptedWork, open_repository};
use crate::error::CliError;
use crate::local::{JournalSink, StateDir};
use crate::output::json::JsonReporter;
use crate::{resolve, secrets};

/// Maximum length of a verdict's reason in a message, in characters.
const REASON_CHARS: usize = 300;

/// A project with its settings.
pub(crate) struct GateProject {
    /// The directory that the checks run in, canonical.
    pub(crate) dir: PathBuf,
    pub(crate) settings: ResolvedConfig,
    pub(crate) in_git: bool,
}

/// The gate of one session.
pub(crate) struct StopGate<'a> {
    pub(crate) home: &'a StateDir,
    pub(crate) agent: HookAgent,
    /// The agent's id of the session.
    pub(crate) session_id: &'a str,
    /// The directory of the session, canonical.
    pub(crate) dir: &'a Path,
    /// Maximum number of refusals of each run.
    pub(crate) max_refusals: u32,
    /// Loads the project and its settings.
    pub(crate) load_project: &'a dyn Fn() -> Result<GateProject, CliError>,
}

/// Builds the runtime that checks run on.
pub(super) fn build_runtime() -> Result<Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)
}

impl StopGate<'_> {
    /// Handles an event.
    pub(crate) fn handle(&self, event: &GateEvent) -> Result<GateAnswer, CliError> {
        let folder = SessionFolder::open(self.home.root(), self.agent, self.session_id, self.dir);
        let folder = folder.map_err(|error| {
            CliError::infrastructure(format!("cannot store the session's state: {error}"))
        })?;
        let new = || GateSession::new(self.agent, self.session_id);
        let mut session = folder.load().unwrap_or_else(new);
        match event {
            GateEvent::SessionStart => {
                self.begin(session.on_start(), "", &folder, &mut session)?;
                Ok(GateAnswer::Silent)
            }
            GateEvent::Prompt { text } => {
                self.begin(session.on_prompt(text), text, &folder, &mut session)?;
                session.is_unsettled = session.task.is_some();
                save(&folder, &session)?;
                Ok(GateAnswer::Silent)
            }
            GateEvent::Stop { message } => self.on_stop(message, &folder, &mut session),
            GateEvent::Interrupted => Ok(GateAnswer::Silent),
            GateEvent::SessionEnd => {
                self.close_run(&session, "the agent's session ended")?;
                if session.is_unsettled && session.task.is_some() {
                    // The session may be resumed.
                    session.end_run_unverified(new_run_id());
                    save(&folder, &session)?;
                } else {
                    folder.remove();
                }
                Ok(GateAnswer::Silent)
            }
        }
    }

    /// Begins other work.
    fn begin(
        &self,
        beginning: TurnStart,
        prompt: &str,
        folder: &SessionFolder,
        session: &mut GateSession,
    ) -> Result<(), CliError> {
        if beginning == TurnStart::Continue {
            return Ok(());
        }
        self.close_run(session, "the user continued with another prompt")?;
        if beginning == TurnStart::KeepStart {
            session.end_run_unverified(new_run_id());
        } else {
            *session = GateSession::new(self.agent, self.session_id);
            session.task = self.new_task(true)?;
        }
        if let Some(task) = &mut session.task {
            task.working_since = Timestamp::now();
            if !prompt.trim().is_empty() {
                prompt.clone_into(&mut task.spec.description);
            }
        }
        save(folder, session)?;
        let start = session.task.as_ref().filter(|task| task.spec.baseline);
        let start = start.and_then(|task| task.start.as_ref());
        if start.is_some_and(|start| load_baseline(folder.path(), &start.repository).is_none()) {
            baseline::spawn(folder.path());
        }
        Ok(())
    }

    /// The work that begins now; `None` in a project without checks. `is_start` states whether the present files are
    /// those from which the work begins.
    fn new_task(&self, is_start: bool) -> Result<Option<SessionTask>, CliError> {
        let project = (self.load_project)()?;
        if project.settings.checks.is_empty() {
            return Ok(None);
        }
        let task = Task {
            description: format!("work in a session of {}", self.agent.title()),
            max_verification_retries: Some(self.max_refusals),
            ..Task::default()
        };
        let in_git = project.in_git && is_start;
        let agent = session_agent(self.agent.name());
        let spec = resolve::external_spec(&task, &project.settings, &project.dir, in_git, agent)?;
        let start = if spec.snapshots {
            Some(self.take_start(&spec.workspace)?)
        } else {
            None
        };
        Ok(Some(SessionTask {
            run_id: new_run_id(),
            spec,
            start,
            working_since: Timestamp::now(),
            is_run: false,
        }))
    }

    /// Snapshots of the present files.
    fn take_start(&self, dir: &Path) -> Result<StartTrees, CliError> {
        let name = format!("{}/start", new_run_id());
        let workspace = self
            .home
            .open_workspace(dir)
            .map_err(CliError::infrastructure)?;
        let own = workspace
            .snapshot_kept(&name)
            .map_err(CliError::infrastructure)?;
        let root = open_repository(self.home, &workspace)?;
        let repository = if root.dir() == workspace.dir() {
            own.tree.clone()
        } else {
            root.snapshot_kept(&name)
                .map_err(CliError::infrastructure)?
                .tree
        };
        Ok(StartTrees {
            workspace: own.tree,
            repository,
        })
    }

    /// Cancels the session's run, if there is one that has not ended. Work that awaits review still does.
    fn close_run(&self, session: &GateSession, reason: &str) -> Result<(), CliError> {
        let Some(task) = session.task.as_ref().filter(|task| task.is_run) else {
            return Ok(());
        };
        let state = self.home.replay(&self.home.open_journal()?, task.run_id)?;
        let is_open = |run: &Run| !matches!(run.phase(), Phase::Finished | Phase::AwaitingReview);
        if !state.run.as_ref().is_some_and(is_open) {
            return Ok(());
        }
        build_runtime()?.block_on(async {
            let mut journal = SessionRun::open(self.home, task, state)?;
            let reason = reason.to_owned();
            journal.step(Input::Cancel { reason }).await?;
            if journal.run()?.control == RunControl::Cancelling {
                journal.step(Input::Settled).await?;
            }
            Ok(())
        })
    }

    fn on_stop(
        &self,
        message: &str,
        folder: &SessionFolder,
        session: &mut GateSession,
    ) -> Result<GateAnswer, CliError> {
        if session.task.is_none() {
            // The hook was not called when the work began, so there is nothing to compare it with.
            session.task = self.new_task(false)?;
        }
        let Some(task) = &session.task else {
            return Ok(GateAnswer::Silent);
        };
        if let Some(start) = task.start.as_ref().filter(|_| !task.is_run)
            && self.take_start(&task.spec.workspace)? == *start
        {
            session.settle(None, new_run_id());
            save(folder, session)?;
            return Ok(GateAnswer::Silent);
        }
        let run = build_runtime()?.block_on(self.verify_stop(message, folder, session))?;
        let answer = answer_for(&run, self.max_refusals);
        match &answer {
            GateAnswer::Refuse { feedback, .. } => {
                session.last_feedback = Some(feedback.clone());
                session.is_unsettled = true;
                if let Some(task) = &mut session.task {
                    task.working_since = Timestamp::now();
                }
            }
            _ if is_accepted(&run) => {
                let start = match session.task.as_ref().filter(|task| task.start.is_some()) {
                    Some(task) => Some(self.take_start(&task.spec.workspace)?),
                    None => None,
                };
                session.settle(start, new_run_id());
            }
            _ => session.end_run_unverified(new_run_id()),
        }
        // A refusal that cannot be recorded is not made: the agent could be refused without end.
        save(folder, session)?;
        Ok(answer)
    }

    /// Verifies the work of an attempt to stop; returns the run after it.
    async fn verify_stop(
        &self,
        message: &str,
        folder: &SessionFolder,
        session: &mut GateSession,
    ) -> Result<Run, CliError> {
        let (root, dir) = (self.home.root().to_owned(), self.dir.to_owned());
        let lock = tokio::task::spawn_blocking(move || lock_directory(&root, &dir)).await;
        let _turn = lock
            .map_err(CliError::infrastructure)?
            .map_err(CliError::infrastructure)?;
        let progress = JsonReporter::default();
        let was_run = session.task.as_ref().is_some_and(|task| task.is_run);
        if let Some(task) = &mut session.task {
            task.is_run = true;
        }
        // First, so that a run that is interrupted is found at the next event.
        save(folder, session)?;
        let Some(task) = &session.task else {
            return Err(CliError::infrastructure("the session has no task"));
        };
        let baseline = baseline::take_or_reuse(self.home, folder.path(), task, &progress).await?;
        let mut state = JournalState::default();
        if was_run {
            state = self.home.replay(&self.home.open_journal()?, task.run_id)?;
        }
        let mut journal = SessionRun::open(self.home, task, state)?;
        if journal.state.run.is_none() {
            let mut spec = task.spec.clone();
            spec.baseline &= baseline.is_some();
            let spec = Box::new(spec);
            journal.step(Input::Create { spec }).await?;
        }
        let mut outcome = Some(session_outcome(
            self.session_id,
            message,
            task.working_since,
        ));
        while let Some(pending) = journal.next_effect()? {
            let Some(input) = self
                .answer_effect(
                    &journal,
                    &pending,
                    baseline.as_ref(),
                    &mut outcome,
                    &progress,
                )
                .await?
            else {
                break;
            };
            journal.step(input).await?;
        }
        journal.run().cloned()
    }

    /// The answer to an effect of the run; `None` if the agent has to continue.
    async fn answer_effect(
        &self,
        journal: &SessionRun<'_>,
        pending: &PendingEffect,
        baseline: Option<&Baseline>,
        outcome: &mut Option<SessionOutcome>,
        progress: &JsonReporter,
    ) -> Result<Option<Input>, CliError> {
        let (effect, task) = (pending.id, journal.task);
        let snapshotted = |tree| Input::Snapshotted {
            effect,
            tree,
            left_out: 0,
            unkept: None,
            changed_tools: None,
        };
        let run = journal.run()?;
        Ok(Some(match (&pending.kind, &task.start, baseline) {
            (EffectKind::Execute { .. }, ..) => match outcome.take() {
                Some(outcome) => Input::SessionEnded {
                    effect,
                    outcome: Box::new(outcome),
                },
                None => return Ok(None),
            },
            (
                EffectKind::Snapshot {
                    moment: SnapshotReason::Start,
                },
                Some(start),
                _,
            ) => snapshotted(start.workspace.clone()),
            (EffectKind::Snapshot { .. }, Some(_), _) => {
                let name = format!("{}/{}", run.run_id, run.attempts.len());
                let workspace = self.home.open_workspace(&task.spec.workspace);
                let workspace = workspace.map_err(CliError::infrastructure)?;
                let taken = workspace.snapshot_kept(&name);
                snapshotted(taken.map_err(CliError::infrastructure)?.tree)
            }
            (EffectKind::Baseline, _, Some(baseline)) => Input::BaselineTaken {
                effect,
                baseline: Box::new(baseline.clone()),
            },
            (EffectKind::Verify { attempt_number }, start, baseline) => {
                let work = AttemptedWork {
                    spec: &run.spec,
                    attempt_number: *attempt_number,
                    run_dir: self.home.create_run_dir(run.run_id)?,
                    began_at: run.created_at,
                    tree: run
                        .attempt(*attempt_number)
                        .and_then(|attempt| attempt.tree.clone()),
                    base: start.as_ref().zip(baseline),
                };
                match Box::pin(work.verify(self.home, progress)).await {
                    Ok(report) => Input::Verified {
                        effect,
                        report: Box::new(report),
                    },
                    Err(error) => Input::Failed {
                        effect,
                        error: error.to_string(),
                    },
                }
            }
            (
                EffectKind::Snapshot { .. }
                | EffectKind::Baseline
                | EffectKind::Restore { .. }
                | EffectKind::Judge { .. }
                | EffectKind::Wait { .. },
                ..,
            ) => Input::Failed {
                effect,
                error: format!(
                    "the stop gate does not support the effect {:?}",
                    pending.kind
                ),
            },
        }))
    }
}

/// The journal of a session's run.
struct SessionRun<'a> {
    task: &'a SessionTask,
    sink: JournalSink,
    redactor: selvedge_core::redact::Redactor,
    state: JournalState,
}

impl<'a> SessionRun<'a> {
    fn open(home: &StateDir, task: &'a SessionTask, state: JournalState) -> Result<Self, CliError> {
        Ok(Self {
            task,
            sink: JournalSink::new(home.open_journal()?, task.run_id),
            redactor: secrets::run_redactor(&task.spec),
            state,
        })
    }

    fn run(&self) -> Result<&Run, CliError> {
        let run = self.state.run.as_ref();
        run.ok_or_else(|| CliError::infrastructure("the run's journal is empty"))
    }

    /// The next effect, unless the run has ended or awaits review.
    fn next_effect(&self) -> Result<Option<PendingEffect>, CliError> {
        let run = self.run()?;
        let is_over = matches!(run.phase(), Phase::Finished | Phase::AwaitingReview);
        Ok(run.pending.first().filter(|_| !is_over).cloned())
    }

    async fn step(&mut self, input: Input) -> Result<(), CliError> {
        let journal = RunJournal {
            sink: &self.sink,
            redactor: &self.redactor,
            now: Timestamp::now,
        };
        let state = self.state.clone();
        let stepped = journal.step(self.task.run_id, state, input, |_| true).await;
        self.state = stepped.map_err(CliError::infrastructure)?.0;
        Ok(())
    }
}

fn new_run_id() -> RunId {
    RunId::new(Uuid::now_v7())
}

fn save(folder: &SessionFolder, session: &GateSession) -> Result<(), CliError> {
    folder.save(session).map_err(|error| {
        CliError::infrastructure(format!("cannot store the session's state: {error}"))
    })
}

/// The session until this attempt to stop.
fn session_outcome(session_id: &str, message: &str, since: Timestamp) -> SessionOutcome {
    let outcome = match parse_cannot_satisfy(message) {
        Some(reason) => SessionOutcome::failed(SessionStatus::CannotSatisfy, reason),
        None => SessionOutcome::new(SessionStatus::Success),
    };
    let elapsed = Timestamp::now().duration_since(since);
    SessionOutcome {
        text: message.chars().take(TEXT_LIMIT).collect(),
        session_id: Some(session_id.to_owned()),
        duration_ms: u64::try_from(elapsed.as_millis()).unwrap_or(0),
        ..outcome
    }
}

/// Whether the next work is compared with the files after this run.
fn is_accepted(run: &Run) -> bool {
    run.finished
        && matches!(
            run.outcome(),
            Outcome::Verified | Outcome::Unchanged | Outcome::Unchecked
        )
}

fn answer_for(run: &Run, max_refusals: u32) -> GateAnswer {
    let verdict = ReportInput::of_run(run).verdict;
    let reason = crate::terminal::one_line(&verdict.reason, REASON_CHARS);
    let short = run.run_id.short();
    let message = match (run.phase(), run.outcome()) {
        (Phase::Finished, Outcome::Verified) => {
            format!("Selvedge: verified: {reason} (run {short})")
        }
        (Phase::Finished, Outcome::Unchanged | Outcome::Unchecked) => {
            format!("Selvedge: {}: {reason} (run {short})", verdict.label)
        }
        (Phase::Finished, _) => format!(
            "Selvedge: NOT VERIFIED ({}): {reason}. The agent was let go; details: selvedge show {short}",
            verdict.label
        ),
        (Phase::AwaitingReview, _) => format!(
            "Selvedge: NOT VERIFIED, needs your review: {reason}. Details: selvedge show {short}; \
             decide: selvedge review {short} --accept, or --reject --reason TEXT"
        ),
        _ => {
            let correction = run
                .open_attempt()
                .and_then(|attempt| attempt.prompt.correction.clone());
            let refusals = run.used_attempts();
            let reason = last_failure(run);
            return match correction {
                Some(feedback) => GateAnswer::Refuse {
                    feedback,
                    message: format!(
                        "Selvedge: not verified yet: {reason}; the agent continues (refusal {refusals} of {max_refusals}, run {short})"
                    ),
                },
                None => GateAnswer::Allow {
                    message: format!("Selvedge: NOT VERIFIED: run {short} has no verdict"),
                },
            };
        }
    };
    GateAnswer::Allow { message }
}

/// The last failure, in a few words.
fn last_failure(run: &Run) -> String {
    let report = run
        .verified_attempts()
        .next_back()
        .map(|(_, report)| report);
    let verdict = report.map(selvedge_core::export::ReportVerdict::of_report);
    verdict.map_or_else(String::new, |verdict| {
        crate::terminal::one_line(&verdict.reason, REASON_CHARS)
    })
}
