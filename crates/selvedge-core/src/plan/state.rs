//! How a plan stands: the fold of its journal, and what comes next.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::contest::Standing;
use crate::model::{
    Budget, Cost, Envelope, Event, MicroUsd, Outcome, PlanSpec, PlannedSubtask, RunId, RunSpec,
    SubtaskEnd, Timestamp, TreeId, Usage,
};

/// A plan as its journal tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub run_id: RunId,
    /// Everything that it depends on, frozen.
    pub spec: Arc<PlanSpec>,
    /// When it was created.
    pub created_at: Timestamp,
    /// How each subtask stands, in the order of the specification.
    pub parts: Vec<Part>,
    /// Of a contest: what it came to, once its work was put in place, or a person has to decide.
    pub chosen: Option<Standing>,
    /// Why a person has to decide, while one has to.
    pub review: Option<String>,
    /// Whether it stands still, in order: stopped for now, or because a person has to decide.
    pub stopped: bool,
    /// How it ended.
    pub finished: Option<Outcome>,
}

/// How a subtask stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its run, once it has begun.
    pub run_id: Option<RunId>,
    /// How that ended.
    pub end: Option<SubtaskEnd>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// The run of this subtask has begun and not ended.
    GoOn {
        /// Which.
        subtask: &'a PlannedSubtask,
        /// Its run.
        run_id: RunId,
    },
    /// This subtask begins.
    Begin {
        /// Which.
        subtask: &'a PlannedSubtask,
        /// The tree to put back first: the last subtask failed, and its work is none to build on.
        put_back: Option<&'a TreeId>,
    },
    /// Nothing is left that could begin.
    Finish(Outcome),
}

/// The plan that this event creates.
pub(crate) fn created(envelope: &Envelope, spec: &PlanSpec) -> Plan {
    Plan {
        run_id: envelope.run_id,
        parts: vec![Part::default(); spec.subtasks.len()],
        spec: Arc::new(spec.clone()),
        created_at: envelope.at,
        chosen: None,
        review: None,
        stopped: false,
        finished: None,
    }
}

/// Folds one event into a plan that exists.
pub(crate) fn fold(plan: &mut Plan, event: &Event) {
    match event {
        Event::SubtaskBegan { id, run_id, .. } => {
            if let Some(part) = plan.part_mut(id) {
                part.run_id = Some(*run_id);
            }
        }
        Event::SubtaskEnded { id, end } => {
            if let Some(part) = plan.part_mut(id) {
                part.end = Some((**end).clone());
            }
        }
        Event::SubtaskChosen {
            id,
            confidence,
            reason,
            ..
        } => {
            plan.chosen = Some(Standing {
                id: id.clone(),
                confidence: *confidence,
                reason: reason.clone(),
            });
        }
        Event::ReviewRequested { reason } => {
            plan.review = Some(reason.clone());
            plan.stopped = true;
        }
        Event::Reviewed { .. } => plan.review = None,
        Event::Suspended => plan.stopped = true,
        Event::Resumed { .. } => {
            plan.stopped = false;
            plan.review = None;
        }
        Event::RunFinished { outcome } => plan.finished = Some(*outcome),
        _ => {}
    }
}

impl Part {
    /// Whether what depends on it may begin.
    pub fn holds(&self) -> bool {
        self.end.as_ref().is_some_and(good)
    }
}

impl Plan {
    fn part_mut(&mut self, id: &str) -> Option<&mut Part> {
        let index = self.spec.subtasks.iter().position(|it| it.id == id)?;
        self.parts.get_mut(index)
    }

    /// Every subtask, and how it stands.
    pub fn subtasks(&self) -> impl Iterator<Item = (&PlannedSubtask, &Part)> {
        self.spec.subtasks.iter().zip(&self.parts)
    }

    /// How the subtask of that name stands.
    pub fn part(&self, id: &str) -> Option<&Part> {
        let found = self.subtasks().find(|(subtask, _)| subtask.id == id);
        found.map(|(_, part)| part)
    }

    fn ends(&self) -> impl Iterator<Item = &SubtaskEnd> {
        self.parts.iter().filter_map(|part| part.end.as_ref())
    }

    /// What all subtasks that have ended cost.
    pub fn cost(&self) -> Cost {
        self.ends().fold(Cost::ZERO, |sum, end| sum + end.cost)
    }

    /// The tokens of all subtasks that have ended.
    pub fn usage(&self) -> Usage {
        self.ends()
            .fold(Usage::default(), |sum, end| sum + end.usage)
    }

    /// Milliseconds that all subtasks that have ended were at work.
    pub fn worked_ms(&self) -> u64 {
        self.ends()
            .fold(0, |sum, end| sum.saturating_add(end.worked_ms))
    }

    /// Subtasks that hold.
    pub fn verified(&self) -> usize {
        self.parts.iter().filter(|part| part.holds()).count()
    }

    /// What a subtask waits for in vain: it failed, or can itself never begin.
    pub fn blocked_by<'a>(&self, subtask: &'a PlannedSubtask) -> Option<&'a str> {
        let lost = self.lost();
        let found = subtask
            .depends_on
            .iter()
            .find(|id| lost.contains(id.as_str()));
        found.map(String::as_str)
    }

    /// Subtasks that failed, and those that can never begin because of them.
    fn lost(&self) -> BTreeSet<&str> {
        let mut lost: BTreeSet<&str> = self
            .subtasks()
            .filter(|(_, part)| part.end.is_some() && !part.holds())
            .map(|(subtask, _)| subtask.id.as_str())
            .collect();
        loop {
            let known = lost.len();
            for (subtask, _) in self.subtasks() {
                if subtask
                    .depends_on
                    .iter()
                    .any(|id| lost.contains(id.as_str()))
                {
                    lost.insert(&subtask.id);
                }
            }
            if lost.len() == known {
                return lost;
            }
        }
    }

    /// What comes next. Subtasks share one workspace, so there is one at a time.
    pub fn next(&self) -> Next<'_> {
        for (subtask, part) in self.subtasks() {
            if let (Some(run_id), None) = (part.run_id, &part.end) {
                return Next::GoOn { subtask, run_id };
            }
        }
        let cancelled = |end: &SubtaskEnd| end.outcome == Outcome::Cancelled;
        if self.ends().any(cancelled) {
            return Next::Finish(Outcome::Cancelled);
        }
        let ready = |(subtask, part): &(&PlannedSubtask, &Part)| {
            let holds = |id: &String| self.part(id).is_some_and(Part::holds);
            part.run_id.is_none() && subtask.depends_on.iter().all(holds)
        };
        match (self.subtasks().find(ready), self.budget_left()) {
            (Some((subtask, _)), Some(_)) => Next::Begin {
                subtask,
                put_back: self.tree_to_put_back(),
            },
            (Some(_), None) if self.ends().all(good) => Next::Finish(Outcome::Budget),
            _ => Next::Finish(self.outcome()),
        }
    }

    /// Invariant: what a failed subtask left behind is never what another is judged by.
    fn tree_to_put_back(&self) -> Option<&TreeId> {
        // A run's id tells when it began (UUIDv7), and so which was the last.
        let last = self.parts.iter().max_by_key(|part| part.run_id)?;
        let failed = last.end.as_ref().filter(|_| !last.holds())?;
        failed.start_tree.as_ref()
    }

    /// What the caps leave for the next subtask; none when one of them is reached.
    fn budget_left(&self) -> Option<Budget> {
        let Budget {
            cost_micro_usd,
            tokens,
            wall_ms,
            ..
        } = self.spec.budget;
        let left = |cap: Option<u64>, spent: u64| match cap {
            None => Some(None),
            Some(cap) => cap.checked_sub(spent).filter(|it| *it > 0).map(Some),
        };
        let cost = left(cost_micro_usd.map(|it| it.0), self.cost().at_least().0)?;
        Some(Budget {
            cost_micro_usd: cost.map(MicroUsd),
            tokens: left(tokens, self.usage().total())?,
            wall_ms: left(wall_ms, self.worked_ms())?,
            ..self.spec.budget
        })
    }

    /// How it ended: verified when every subtask is, else as the first that was not.
    fn outcome(&self) -> Outcome {
        let bad = self.ends().find(|end| !good(end));
        let unchecked = |end: &SubtaskEnd| end.outcome == Outcome::Unchecked;
        match bad {
            Some(end) => end.outcome,
            None if self.ends().any(unchecked) => Outcome::Unchecked,
            None => Outcome::Verified,
        }
    }

    /// The specification of a subtask's run, with what the plan has left for it.
    pub fn run_spec(&self, subtask: &PlannedSubtask) -> RunSpec {
        RunSpec {
            budget: match self.spec.contest {
                None => self.budget_left().unwrap_or(self.spec.budget),
                // Executions run side by side, so each has its share from the beginning.
                Some(_) => subtask.spec.budget,
            },
            ..subtask.spec.clone()
        }
    }
}

fn good(end: &SubtaskEnd) -> bool {
    matches!(end.outcome, Outcome::Verified | Outcome::Unchecked)
}
