//! Recovers the state of a task from the journal, this worker's or else the hub's, and decides how the run continues.

use std::path::Path;
use std::sync::Arc;

use selvedge_core::config::Flags;
use selvedge_core::machine::{Input, JournalState, evolve};
use selvedge_core::model::{ReviewTarget, RunSpec};
use selvedge_core::run::Run;
use selvedge_protocol::TaskAssign;
use selvedge_store::fault;

use super::activity::ActivityBuffer;
use super::handover;
use super::machine;
use super::subtask::LaterSubtask;
use super::task_runner::{TaskError, TaskRunner};
use super::task_workspace::TaskWorkspace;
use crate::{resolve, settings};

/// A task's recovered run.
pub(super) struct RecoveredRun {
    pub(super) state: JournalState,
    /// The first input for the state machine.
    pub(super) first_input: Option<Input>,
    /// The hub's journal, if this worker has none.
    pub(super) inherited_journal: Vec<String>,
}

impl TaskRunner {
    /// Recovers the run from the local journal, or else from the hub's.
    pub(super) async fn recover_run(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
        activity: &ActivityBuffer,
    ) -> Result<RecoveredRun, TaskError> {
        let id = assign.lease.task_id;
        let mut events = self.outbox.with(move |it| it.events(id)).await?;
        let mut inherited_journal = Vec::new();
        if events.is_empty() && assign.last_event_seq > 0 {
            let fetched = handover::fetch_journal(&self.hub, id).await;
            let fetched = fetched.map_err(|error| TaskError::Retryable(error.to_string()))?;
            (inherited_journal, events) = (fetched.raw, fetched.events);
            fault::failpoint("worker.journal.fetched");
        }
        let mut state = JournalState::default();
        for event in &events {
            state = evolve(state, event);
        }
        let Some(run) = &mut state.run else {
            let spec = self.new_spec(assign, task_workspace).await?;
            return Ok(RecoveredRun {
                state,
                first_input: Some(Input::Create { spec: spec.into() }),
                inherited_journal,
            });
        };
        if !state.unknown.is_empty() {
            return Err(TaskError::Retryable(
                "the run's journal was written by a newer release".to_owned(),
            ));
        }
        if inherited_journal.is_empty() {
            self.continue_own_run(run, task_workspace)?;
        } else {
            let notes = self.take_over_run(run, assign, task_workspace).await?;
            for note in notes {
                activity.push_note(note);
            }
        }
        let first_input = if run.finished {
            None
        } else if run.review.is_some() {
            assign.review.as_ref().map(|review| Input::Review {
                named: ReviewTarget::default(),
                accepted: false,
                retry: true,
                by: review.by.clone(),
                stated_by: review.stated_by.clone(),
                reason: review.reason.clone(),
            })
        } else {
            Some(Input::Resume)
        };
        Ok(RecoveredRun {
            state,
            first_input,
            inherited_journal,
        })
    }

    /// The specification of a run that begins.
    async fn new_spec(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
    ) -> Result<RunSpec, TaskError> {
        match self.prepare_later_subtask(assign, task_workspace).await? {
            Some(later) => tokio::task::block_in_place(|| {
                self.resolve_later_subtask(assign, task_workspace, &later)
            }),
            None => self.resolve_spec(assign, task_workspace),
        }
    }

    /// Continues a run of this worker. The specification is fixed except for what depends on this machine.
    fn continue_own_run(
        &self,
        run: &mut Run,
        task_workspace: &TaskWorkspace,
    ) -> Result<(), TaskError> {
        let adopted = task_workspace.load_adopted_spec();
        let adopted = adopted.map_err(|error| TaskError::Retryable(error.to_string()))?;
        let mut spec = adopted.unwrap_or_else(|| (*run.spec).clone());
        spec.workspace.clone_from(&task_workspace.dir);
        run.spec = Arc::new(spec);
        if handover::has_missing_trees(run, task_workspace, &self.work_dirs) {
            // The files may be incomplete. A worker that takes the task over starts from trusted files.
            let lost = "trees of the run are missing on this worker's disk";
            return Err(TaskError::Retryable(lost.to_owned()));
        }
        Ok(())
    }

    /// Continues a run that another worker began; returns notes about its trees.
    async fn take_over_run(
        &self,
        run: &mut Run,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
    ) -> Result<Vec<String>, TaskError> {
        let mut spec = (*run.spec).clone();
        spec.workspace.clone_from(&task_workspace.dir);
        run.spec = Arc::new(spec);
        // A clone is restored to the state at the start of the run; a folder keeps the changes of its agents.
        let later = if task_workspace.is_clone() {
            self.prepare_later_subtask(assign, task_workspace).await?
        } else {
            None
        };
        if !run.finished {
            let recorded = (*run.spec).clone();
            let adopted = tokio::task::block_in_place(|| {
                let adopt = || self.adopt_machine(recorded, task_workspace);
                match &later {
                    Some(later) => later.with_plan_settings(adopt)?,
                    None => adopt(),
                }
            })?;
            let stored = task_workspace.store_adopted_spec(&adopted);
            stored.map_err(|error| TaskError::Retryable(error.to_string()))?;
            run.spec = Arc::new(adopted);
        }
        let id = assign.lease.task_id;
        let taken = handover::take_over_trees(&self.hub, id, task_workspace, &self.work_dirs, run);
        Ok(taken.await?)
    }

    /// Continues a run that another worker began with the programs, the sandbox and the environment of this machine.
    /// Blocks.
    fn adopt_machine(
        &self,
        recorded: RunSpec,
        task_workspace: &TaskWorkspace,
    ) -> Result<RunSpec, TaskError> {
        let load = |dir: &Path| {
            let loaded = settings::load(dir, &Flags::default(), &self.environment);
            let loaded = loaded.map_err(|error| TaskError::Unsuitable(error.to_string()))?;
            Ok::<_, TaskError>(loaded.resolved)
        };
        let applying = load(&task_workspace.dir)?;
        // An agent may have changed the settings in a folder; those in a clone are from before the run.
        let agents = if task_workspace.is_clone() {
            applying.agents.clone()
        } else {
            load(&self.work_dirs.root)?.agents
        };
        machine::adopt(recorded, &applying, &agents)
    }

    async fn prepare_later_subtask(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
    ) -> Result<Option<LaterSubtask>, TaskError> {
        let later = LaterSubtask::prepare(&self.hub, task_workspace, &self.work_dirs, &assign.task);
        Ok(later.await?)
    }

    /// Resolves a later subtask with the plan's original settings, so that earlier agents cannot change its checks.
    /// Blocks.
    fn resolve_later_subtask(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
        later: &LaterSubtask,
    ) -> Result<RunSpec, TaskError> {
        let spec = later.with_plan_settings(|| self.resolve_spec(assign, task_workspace))??;
        let test_base = later.test_base(&spec);
        Ok(RunSpec { test_base, ..spec })
    }

    /// Resolves the task with the settings of this worker and of the repository.
    fn resolve_spec(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
    ) -> Result<RunSpec, TaskError> {
        let settings = settings::load(&task_workspace.dir, &Flags::default(), &self.environment);
        let mut settings = settings.map_err(|error| {
            if error.is_of_repository() {
                TaskError::Permanent(error.to_string())
            } else {
                TaskError::Unsuitable(error.to_string())
            }
        })?;
        settings.resolved.setup.in_clone = task_workspace.is_clone();
        let workspace = task_workspace
            .open_workspace(&self.work_dirs)
            .map_err(|error| TaskError::Retryable(error.to_string()))?;
        let mut task = assign.task.clone();
        task.task_id = Some(assign.lease.task_id);
        // On a hub, retries must be requested.
        task.max_verification_retries = Some(task.max_verification_retries.unwrap_or(0));
        let resolved = tokio::task::block_in_place(|| {
            resolve::run_spec(
                &task,
                &settings.resolved,
                &task_workspace.dir,
                workspace.is_some(),
            )
        });
        resolved.map(|resolved| resolved.spec).map_err(|error| {
            let reason = error.to_plain_text();
            if error.is_of_this_machine {
                TaskError::Unsuitable(reason)
            } else {
                TaskError::Permanent(reason)
            }
        })
    }
}
