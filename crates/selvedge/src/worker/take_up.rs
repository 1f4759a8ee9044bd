//! Where a task stands when this worker takes it up: by its journal, ours or else the hub's; and with what it
//! goes on.

use std::sync::Arc;

use selvedge_core::config::Flags;
use selvedge_core::fleet::TaskAssign;
use selvedge_core::machine::{Input, State, evolve};
use selvedge_core::model::{ReviewTarget, RunSpec};
use selvedge_store::fault;

use super::activity::Tap;
use super::carry::{Halt, Porter};
use super::place::Place;
use super::subtask::LaterSubtask;
use super::takeover;
use crate::{freeze, settings};

/// A task as its journal tells it.
pub(super) struct TakenUp {
    pub(super) state: State,
    /// What the machine is to be told.
    pub(super) first: Option<Input>,
    /// The journal, when it is another worker's.
    pub(super) inherited: Vec<String>,
}

impl Porter {
    /// The task as its journal tells it, ours or else the hub's.
    pub(super) async fn taken_up(
        &self,
        assign: &TaskAssign,
        place: &Place,
        tap: &Tap,
    ) -> Result<TakenUp, Halt> {
        let id = assign.lease.task_id;
        let mut events = self.desk.with(move |it| it.events(id)).await?;
        let mut inherited = Vec::new();
        if events.is_empty() && assign.last_event_seq > 0 {
            let fetched = takeover::journal(&self.hub, id).await;
            let fetched = fetched.map_err(|error| Halt::NotNow(error.to_string()))?;
            (inherited, events) = (fetched.raw, fetched.events);
            fault::reached("worker.journal.fetched");
        }
        let mut state = State::default();
        for event in &events {
            state = evolve(state, event);
        }
        let Some(run) = &mut state.run else {
            let later = self.later_subtask(assign, place).await?;
            let spec = match later {
                Some(later) => {
                    tokio::task::block_in_place(|| self.frozen_later(assign, place, &later))?
                }
                None => self.frozen(assign, place)?,
            };
            let first = Some(Input::Create {
                spec: Box::new(spec),
            });
            return Ok(TakenUp {
                state,
                first,
                inherited,
            });
        };
        if !state.unknown.is_empty() {
            return Err(Halt::NotNow(
                "its journal was written by a later release".to_owned(),
            ));
        }
        // The specification is frozen but for where it takes place: that is this machine's to say.
        let mut spec = (*run.spec).clone();
        spec.workspace.clone_from(&place.dir);
        run.spec = Arc::new(spec);
        if inherited.is_empty() && takeover::is_astray(run, place, &self.ground) {
            // What stands in its place may be half done: whoever takes it over knows not to trust it.
            let lost = "this worker's disk has lost what the run stands on";
            return Err(Halt::NotNow(lost.to_owned()));
        }
        if !inherited.is_empty() {
            // A clone is put together again as it was when the run began; a folder is as its agents left it.
            if place.is_clone() {
                self.later_subtask(assign, place).await?;
            }
            let notes = takeover::trees(&self.hub, id, place, &self.ground, run).await?;
            for note in notes {
                tap.note(note);
            }
        }
        if fault::planted("charge_crashes") && run.open_attempt().is_some() {
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
        Ok(TakenUp {
            state,
            first,
            inherited,
        })
    }

    async fn later_subtask(
        &self,
        assign: &TaskAssign,
        place: &Place,
    ) -> Result<Option<LaterSubtask>, Halt> {
        let later = LaterSubtask::put_in_place(&self.hub, place, &self.ground, &assign.task);
        Ok(later.await?)
    }

    /// A later subtask resolved as its plan's start wants it: earlier agents decide nothing about its
    /// checks. Blocks.
    fn frozen_later(
        &self,
        assign: &TaskAssign,
        place: &Place,
        later: &LaterSubtask,
    ) -> Result<RunSpec, Halt> {
        let spec = later.with_settings_of_plan(|| self.frozen(assign, place))??;
        let test_base = later.test_base(&spec);
        Ok(RunSpec { test_base, ..spec })
    }

    /// The task resolved by this worker's settings, and the repository's.
    fn frozen(&self, assign: &TaskAssign, place: &Place) -> Result<RunSpec, Halt> {
        let never = |error: &dyn std::fmt::Display| Halt::Never(error.to_string());
        let mut settings = settings::load(&place.dir, &Flags::default(), &self.environment)
            .map_err(|error| never(&error))?;
        settings.resolved.setup.in_clone = place.is_clone();
        let workspace = place.workspace(&self.ground).map_err(Halt::NotNow)?;
        let mut task = assign.task.clone();
        task.task_id = Some(assign.lease.task_id);
        // On a hub retries are asked for.
        task.max_verification_retries = Some(task.max_verification_retries.unwrap_or(0));
        let frozen = tokio::task::block_in_place(|| {
            freeze::task(&task, &settings.resolved, &place.dir, workspace.is_some())
        });
        frozen
            .map(|frozen| frozen.spec)
            .map_err(|error| Halt::Never(error.plainly()))
    }
}
