//! Where a task stands when this worker takes it up: by its journal, ours or else the hub's; and with what it
//! goes on.

use std::sync::Arc;

use selvedge_core::config::Flags;
use selvedge_core::machine::{Input, JournalState, evolve};
use selvedge_core::model::{ReviewTarget, RunSpec};
use selvedge_core::protocol::TaskAssign;
use selvedge_store::fault;

use super::activity::ActivityBuffer;
use super::handover;
use super::subtask::LaterSubtask;
use super::task_runner::{TaskError, TaskRunner};
use super::task_workspace::TaskWorkspace;
use crate::{resolve, settings};

/// A task as its journal tells it.
pub(super) struct RecoveredRun {
    pub(super) state: JournalState,
    /// What the machine is to be told.
    pub(super) first_input: Option<Input>,
    /// The journal, when it is another worker's.
    pub(super) inherited_journal: Vec<String>,
}

impl TaskRunner {
    /// The task as its journal tells it, ours or else the hub's.
    pub(super) async fn recover_run(
        &self,
        assign: &TaskAssign,
        place: &TaskWorkspace,
        tap: &ActivityBuffer,
    ) -> Result<RecoveredRun, TaskError> {
        let id = assign.lease.task_id;
        let mut events = self.outbox.with(move |it| it.events(id)).await?;
        let mut inherited = Vec::new();
        if events.is_empty() && assign.last_event_seq > 0 {
            let fetched = handover::fetch_journal(&self.hub, id).await;
            let fetched = fetched.map_err(|error| TaskError::Retryable(error.to_string()))?;
            (inherited, events) = (fetched.raw, fetched.events);
            fault::failpoint("worker.journal.fetched");
        }
        let mut state = JournalState::default();
        for event in &events {
            state = evolve(state, event);
        }
        let Some(run) = &mut state.run else {
            let later = self.prepare_later_subtask(assign, place).await?;
            let spec = match later {
                Some(later) => tokio::task::block_in_place(|| {
                    self.resolve_later_subtask(assign, place, &later)
                })?,
                None => self.resolve_spec(assign, place)?,
            };
            let first = Some(Input::Create {
                spec: Box::new(spec),
            });
            return Ok(RecoveredRun {
                state,
                first_input: first,
                inherited_journal: inherited,
            });
        };
        if !state.unknown.is_empty() {
            return Err(TaskError::Retryable(
                "its journal was written by a later release".to_owned(),
            ));
        }
        // The specification is frozen but for where it takes place: that is this machine's to say.
        let mut spec = (*run.spec).clone();
        spec.workspace.clone_from(&place.dir);
        run.spec = Arc::new(spec);
        if inherited.is_empty() && handover::has_missing_trees(run, place, &self.work_dirs) {
            // What stands in its place may be half done: whoever takes it over knows not to trust it.
            let lost = "this worker's disk has lost what the run stands on";
            return Err(TaskError::Retryable(lost.to_owned()));
        }
        if !inherited.is_empty() {
            // A clone is put together again as it was when the run began; a folder is as its agents left it.
            if place.is_clone() {
                self.prepare_later_subtask(assign, place).await?;
            }
            let notes =
                handover::take_over_trees(&self.hub, id, place, &self.work_dirs, run).await?;
            for note in notes {
                tap.push_note(note);
            }
        }
        if fault::is_mutant_active("charge_crashes") && run.open_attempt().is_some() {
            let mut spec = (*run.spec).clone();
            spec.max_verification_retries = spec.max_verification_retries.saturating_sub(1);
            run.spec = Arc::new(spec);
        }
        let first = if run.finished {
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
            first_input: first,
            inherited_journal: inherited,
        })
    }

    async fn prepare_later_subtask(
        &self,
        assign: &TaskAssign,
        place: &TaskWorkspace,
    ) -> Result<Option<LaterSubtask>, TaskError> {
        let later = LaterSubtask::prepare(&self.hub, place, &self.work_dirs, &assign.task);
        Ok(later.await?)
    }

    /// A later subtask resolved as its plan's start wants it: earlier agents decide nothing about its
    /// checks. Blocks.
    fn resolve_later_subtask(
        &self,
        assign: &TaskAssign,
        place: &TaskWorkspace,
        later: &LaterSubtask,
    ) -> Result<RunSpec, TaskError> {
        let spec = later.with_plan_settings(|| self.resolve_spec(assign, place))??;
        let test_base = later.test_base(&spec);
        Ok(RunSpec { test_base, ..spec })
    }

    /// The task resolved by this worker's settings, and the repository's.
    fn resolve_spec(
        &self,
        assign: &TaskAssign,
        place: &TaskWorkspace,
    ) -> Result<RunSpec, TaskError> {
        let never = |error: &dyn std::fmt::Display| TaskError::Permanent(error.to_string());
        let mut settings = settings::load(&place.dir, &Flags::default(), &self.environment)
            .map_err(|error| never(&error))?;
        settings.resolved.setup.in_clone = place.is_clone();
        let workspace = place
            .open_workspace(&self.work_dirs)
            .map_err(TaskError::Retryable)?;
        let mut task = assign.task.clone();
        task.task_id = Some(assign.lease.task_id);
        // On a hub retries are asked for.
        task.max_verification_retries = Some(task.max_verification_retries.unwrap_or(0));
        let frozen = tokio::task::block_in_place(|| {
            resolve::run_spec(&task, &settings.resolved, &place.dir, workspace.is_some())
        });
        frozen
            .map(|frozen| frozen.spec)
            .map_err(|error| TaskError::Permanent(error.to_plain_text()))
    }
}
