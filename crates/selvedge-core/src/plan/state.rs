//! The state of a plan: the fold of its journal, and the next step.

use std::sync::Arc;

use super::best_of_n::{LeadingSubtask, Selection};
use super::schedule::{self, ScheduleDecision, SubtaskNode, unblocks_dependents};
use crate::model::{
    Budget, Cost, Envelope, Event, Outcome, PlanSpec, PlannedSubtask, ReviewRecord, ReviewTarget,
    RunId, RunSpec, SubtaskEnd, Timestamp, TreeId, Usage,
};

/// A plan, folded from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its id.
    pub run_id: RunId,
    /// Its immutable specification.
    pub spec: Arc<PlanSpec>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The state of each subtask, in the order of the specification.
    pub subtask_states: Vec<SubtaskState>,
    /// Best-of-N: the selection, once its work is in place or a person has to decide.
    pub chosen: Option<LeadingSubtask>,
    /// Why a person has to decide, while the plan awaits review.
    pub review: Option<String>,
    /// Best-of-N: a person's decision.
    pub reviewed: Option<ReviewRecord>,
    /// Whether it is stopped in an orderly way: paused, or because a person has to decide.
    pub stopped: bool,
    /// Its outcome.
    pub finished: Option<Outcome>,
}

/// The state of a subtask.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubtaskState {
    /// Its run, once it has begun.
    pub run_id: Option<RunId>,
    /// How the run ended.
    pub end: Option<SubtaskEnd>,
}

/// The next step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanStep<'a> {
    /// The run of this subtask has begun and not ended.
    Continue {
        /// The subtask.
        subtask: &'a PlannedSubtask,
        /// Its run.
        run_id: RunId,
    },
    /// This subtask begins.
    Begin {
        /// The subtask.
        subtask: &'a PlannedSubtask,
        /// The tree to restore first: the last subtask failed, and its work is discarded.
        restore: Option<&'a TreeId>,
    },
    /// No further subtask can begin.
    Finish(Outcome),
}

/// Creates the plan from its first event.
pub(crate) fn create_plan(envelope: &Envelope, spec: &PlanSpec) -> Plan {
    Plan {
        run_id: envelope.run_id,
        subtask_states: vec![SubtaskState::default(); spec.subtasks.len()],
        spec: Arc::new(spec.clone()),
        created_at: envelope.at,
        chosen: None,
        review: None,
        reviewed: None,
        stopped: false,
        finished: None,
    }
}

/// Folds one event into a plan that exists.
pub(crate) fn fold(plan: &mut Plan, event: &Event) {
    match event {
        Event::SubtaskBegan { id, run_id, .. } => {
            if let Some(part) = plan.subtask_state_mut(id) {
                part.run_id = Some(*run_id);
            }
        }
        Event::SubtaskEnded { id, end } => {
            if let Some(part) = plan.subtask_state_mut(id) {
                part.end = Some((**end).clone());
            }
        }
        Event::SubtaskChosen {
            id,
            confidence,
            reason,
            ..
        } => {
            plan.chosen = Some(LeadingSubtask {
                id: id.clone(),
                confidence: *confidence,
                reason: reason.clone(),
            });
        }
        Event::ReviewRequested { reason } => {
            plan.review = Some(reason.clone());
            plan.stopped = true;
        }
        Event::Reviewed {
            accepted,
            by,
            stated_by,
            reason,
        } => {
            plan.reviewed = Some(ReviewRecord {
                accepted: *accepted,
                by: by.clone(),
                stated_by: stated_by.clone(),
                reason: reason.clone(),
                target: plan.review_target().unwrap_or_default(),
            });
            plan.review = None;
        }
        Event::Suspended => plan.stopped = true,
        Event::Resumed { .. } => {
            plan.stopped = false;
            plan.review = None;
        }
        Event::RunFinished { outcome } => plan.finished = Some(*outcome),
        _ => {}
    }
}

impl SubtaskState {
    /// Whether dependents may begin.
    pub fn unblocks_dependents(&self) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| unblocks_dependents(end.outcome))
    }
}

impl Plan {
    fn subtask_state_mut(&mut self, id: &str) -> Option<&mut SubtaskState> {
        let index = self.spec.subtasks.iter().position(|it| it.id == id)?;
        self.subtask_states.get_mut(index)
    }

    /// Every subtask with its state.
    pub fn subtasks(&self) -> impl Iterator<Item = (&PlannedSubtask, &SubtaskState)> {
        self.spec.subtasks.iter().zip(&self.subtask_states)
    }

    /// The state of the subtask with this id.
    pub fn subtask_state(&self, id: &str) -> Option<&SubtaskState> {
        let found = self.subtasks().find(|(subtask, _)| subtask.id == id);
        found.map(|(_, part)| part)
    }

    fn subtask_ends(&self) -> impl Iterator<Item = &SubtaskEnd> {
        self.subtask_states
            .iter()
            .filter_map(|part| part.end.as_ref())
    }

    /// The cost of all subtasks that have ended.
    pub fn cost(&self) -> Cost {
        self.subtask_ends()
            .fold(Cost::ZERO, |sum, end| sum + end.cost)
    }

    /// The tokens of all subtasks that have ended.
    pub fn usage(&self) -> Usage {
        self.subtask_ends()
            .fold(Usage::default(), |sum, end| sum + end.usage)
    }

    /// The duration of all subtasks that have ended, in milliseconds.
    pub fn active_ms(&self) -> u64 {
        self.subtask_ends()
            .fold(0, |sum, end| sum.saturating_add(end.worked_ms))
    }

    /// Best-of-N: the work that awaits review, if any.
    pub fn review_target(&self) -> Option<ReviewTarget> {
        self.review.as_ref()?;
        let (Selection::Winner(candidate) | Selection::NeedsReview(candidate)) =
            self.select_best(self.spec.best_of_floor?)
        else {
            return None;
        };
        Some(ReviewTarget {
            attempt: None,
            tree: self
                .subtask_state(&candidate.id)?
                .end
                .as_ref()?
                .tree
                .clone(),
        })
    }

    /// Number of verified subtasks.
    pub fn verified_count(&self) -> usize {
        self.subtask_states
            .iter()
            .filter(|part| part.unblocks_dependents())
            .count()
    }

    fn nodes(&self) -> Vec<SubtaskNode<'_>> {
        let node = |(subtask, part): (_, &SubtaskState)| {
            let subtask: &PlannedSubtask = subtask;
            SubtaskNode {
                id: &subtask.id,
                depends_on: &subtask.depends_on,
                has_begun: part.run_id.is_some(),
                outcome: part.end.as_ref().map(|end| end.outcome),
            }
        };
        self.subtasks().map(node).collect()
    }

    /// The dependency that blocks a subtask: it failed, or can itself never begin.
    pub fn blocked_by<'a>(&'a self, subtask: &'a PlannedSubtask) -> Option<&'a str> {
        let mut all = self.spec.subtasks.iter();
        let index = all.position(|it| it.id == subtask.id)?;
        schedule::blocked_by(&self.nodes(), index)
    }

    /// The next step. Subtasks share one workspace, so they run one at a time.
    pub fn next(&self) -> PlanStep<'_> {
        let subtask = |index: usize| self.spec.subtasks.get(index);
        let run_id = |index: usize| self.subtask_states.get(index).and_then(|part| part.run_id);
        match schedule::decide_next(&self.nodes(), self.remaining_budget().is_some()) {
            ScheduleDecision::Continue(index) => match (subtask(index), run_id(index)) {
                (Some(subtask), Some(run_id)) => PlanStep::Continue { subtask, run_id },
                _ => PlanStep::Finish(Outcome::InfraFailed),
            },
            ScheduleDecision::Begin(index) => match subtask(index) {
                Some(subtask) => PlanStep::Begin {
                    subtask,
                    restore: self.tree_to_restore(),
                },
                None => PlanStep::Finish(Outcome::InfraFailed),
            },
            ScheduleDecision::Finish(outcome) => PlanStep::Finish(outcome),
        }
    }

    /// Invariant: the work of a failed subtask never affects another subtask.
    fn tree_to_restore(&self) -> Option<&TreeId> {
        // A run's id contains its start time (UUIDv7), which shows the latest one.
        let last = self.subtask_states.iter().max_by_key(|part| part.run_id)?;
        let failed = last.end.as_ref().filter(|_| !last.unblocks_dependents())?;
        failed.start_tree.as_ref()
    }

    /// The tree from which the plan began, once a subtask has ended: the first one began there.
    pub fn start_tree(&self) -> Option<&TreeId> {
        if self.spec.best_of_floor.is_some() {
            return None;
        }
        let ended = self.subtask_states.iter().filter(|part| part.end.is_some());
        let trees =
            ended.filter_map(|part| Some((part.run_id, part.end.as_ref()?.start_tree.as_ref()?)));
        // A run's id contains its start time (UUIDv7).
        trees
            .min_by_key(|(run_id, _)| *run_id)
            .map(|(_, tree)| tree)
    }

    /// The remaining budget for the next subtask; `None` if a limit is reached.
    fn remaining_budget(&self) -> Option<Budget> {
        let spent = self.cost().at_least();
        schedule::remaining_plan_budget(
            &self.spec.budget,
            spent,
            self.usage().total(),
            self.active_ms(),
        )
    }

    /// The specification of a subtask's run, with the plan's remaining budget.
    pub fn run_spec(&self, subtask: &PlannedSubtask) -> RunSpec {
        RunSpec {
            budget: match self.spec.best_of_floor {
                None => self.remaining_budget().unwrap_or(self.spec.budget),
                // Executions run in parallel, so each has its share from the beginning.
                Some(_) => subtask.spec.budget,
            },
            ..subtask.spec.clone()
        }
    }
}
