//! The subtasks of a plan, loaded from the store: those that have begun are tasks.

use selvedge_core::model::{Budget, Cost, Outcome, Task, TaskId};
use selvedge_core::plan::{self, SubtaskNode, unblocks_dependents};
use selvedge_protocol::{SubtaskRow, TaskState};
use selvedge_store::hub::{HubStoreError, TaskView};

use crate::hub::Hub;
use crate::task_rows::{cost_of, cost_so_far};

/// A plan's subtasks.
pub(super) struct Subtasks {
    /// The submitted plan.
    pub(super) task: Task,
    /// The tasks in the order of the plan; `None` for subtasks that have not begun.
    started: Vec<Option<TaskView>>,
}

impl Subtasks {
    pub(super) async fn of(hub: &Hub, task: Task) -> Result<Self, HubStoreError> {
        let mut begun = Vec::with_capacity(task.subtasks.len());
        for subtask in &task.subtasks {
            let found = match subtask.task_id {
                Some(id) => hub.store().task(id).await?,
                None => None,
            };
            begun.push(found.map(|(view, _)| view));
        }
        Ok(Self {
            task,
            started: begun,
        })
    }

    /// The ids of all subtasks, begun or not.
    pub(super) fn ids(&self) -> impl Iterator<Item = TaskId> {
        self.task.subtasks.iter().filter_map(|it| it.task_id)
    }

    /// The subtasks that have begun.
    pub(super) fn started(&self) -> impl Iterator<Item = &TaskView> {
        self.started.iter().flatten()
    }

    /// The subtasks that have begun, with their names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &TaskView)> {
        let all = self.task.subtasks.iter().zip(&self.started);
        all.filter_map(|(subtask, view)| Some((subtask.id.as_str(), view.as_ref()?)))
    }

    /// The subtask that has begun and is not finished.
    pub(super) fn open(&self) -> Option<&TaskView> {
        self.started()
            .find(|view| !view.row.lease.state.is_terminal())
    }

    /// The verified subtask that ended last: its result contains all work of the plan.
    pub(super) fn last_verified(&self) -> Option<&TaskView> {
        self.started()
            .filter(|view| outcome(view).is_some_and(unblocks_dependents))
            .max_by_key(|view| view.row.created_at)
    }

    pub(super) fn nodes(&self) -> Vec<SubtaskNode<'_>> {
        let all = self.task.subtasks.iter().zip(&self.started);
        all.map(|(subtask, view)| SubtaskNode {
            id: &subtask.id,
            depends_on: &subtask.depends_on,
            has_begun: view.is_some(),
            outcome: view.as_ref().and_then(outcome),
        })
        .collect()
    }

    /// The cost of all subtasks so far.
    pub(super) fn cost(&self) -> Cost {
        self.started()
            .fold(Cost::ZERO, |sum, view| sum + cost_of(view.cost))
    }

    /// Input and output tokens so far.
    pub(super) fn tokens(&self) -> (u64, u64) {
        self.started()
            .fold((0, 0), |(tokens_in, tokens_out), view| {
                (
                    view.cost.tokens_in.saturating_add(tokens_in),
                    view.cost.tokens_out.saturating_add(tokens_out),
                )
            })
    }

    /// The plan's remaining budget after so many active milliseconds; `None` if a limit is reached.
    pub(super) fn remaining_budget(&self, worked_ms: u64) -> Option<Budget> {
        let plan_budget = self.task.budget.unwrap_or_default();
        let (tokens_in, tokens_out) = self.tokens();
        let tokens = tokens_in.saturating_add(tokens_out);
        plan::remaining_plan_budget(&plan_budget, self.cost().at_least(), tokens, worked_ms)
    }

    /// The reason of the plan's outcome, in one line.
    pub(super) fn reason(&self, outcome_of_all: Outcome) -> String {
        let nodes = self.nodes();
        let outcomes = nodes.iter().filter_map(|node| node.outcome);
        let verified = outcomes
            .filter(|outcome| unblocks_dependents(*outcome))
            .count();
        let mut reasons = vec![format!("{verified} of {} subtasks verified", nodes.len())];
        let accepted = |view: &&TaskView| {
            let review = view.row.lease.review.as_ref();
            outcome(view).is_some_and(unblocks_dependents)
                && review.is_some_and(|review| review.accepted)
        };
        match self.started().filter(accepted).count() {
            0 => {}
            n => reasons.push(format!("{n} of them accepted in review")),
        }
        for (index, node) in nodes.iter().enumerate() {
            let why = match (node.outcome, self.started.get(index)) {
                (Some(outcome), _) if unblocks_dependents(outcome) => continue,
                (Some(outcome), Some(Some(view))) => {
                    let reason = view.row.reason.clone();
                    format!(
                        ": {}",
                        reason.unwrap_or_else(|| outcome.as_str().to_owned())
                    )
                }
                _ => format!(" {}", why_not_started(&nodes, index, Some(outcome_of_all))),
            };
            reasons.push(format!("`{}`{why}", node.id));
        }
        reasons.join("; ")
    }

    /// The rows of the subtasks for the plan's page.
    pub(super) fn rows(&self, outcome_of_all: Option<Outcome>) -> Vec<SubtaskRow> {
        let nodes = self.nodes();
        let all = self.task.subtasks.iter().zip(&self.started).enumerate();
        all.filter_map(|(index, (subtask, view))| {
            let row = SubtaskRow {
                id: subtask.id.clone(),
                task_id: subtask.task_id?,
                depends_on: subtask.depends_on.clone(),
                state: None,
                outcome: None,
                reason: Some(why_not_started(&nodes, index, outcome_of_all)),
                review: None,
                attempts: 0,
                cost: Cost::ZERO,
            };
            let Some(view) = view else { return Some(row) };
            Some(SubtaskRow {
                state: Some(view.row.lease.state),
                outcome: view.row.lease.outcome,
                reason: view.row.reason.clone(),
                review: view.row.lease.review.clone(),
                attempts: view.row.lease.last_attempt,
                cost: cost_so_far(view),
                ..row
            })
        })
        .collect()
    }
}

/// The outcome of a subtask; `None` until it has ended.
fn outcome(view: &TaskView) -> Option<Outcome> {
    let lease = &view.row.lease;
    match lease.state {
        TaskState::Cancelled => Some(Outcome::Cancelled),
        state if state.is_terminal() => lease.outcome.or(Some(Outcome::InfraFailed)),
        _ => None,
    }
}

/// Explains why a subtask has not begun.
fn why_not_started(
    nodes: &[SubtaskNode<'_>],
    index: usize,
    outcome_of_all: Option<Outcome>,
) -> String {
    match (plan::blocked_by(nodes, index), outcome_of_all) {
        (Some(id), _) => format!("not started: it depends on `{id}`, which is not verified"),
        (None, Some(Outcome::Budget)) => "not started: the budget is exhausted".to_owned(),
        (None, _) => "not started".to_owned(),
    }
}
