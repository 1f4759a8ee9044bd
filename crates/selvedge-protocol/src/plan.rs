//! Presents a plan on a hub like one that ran in one place: built from its row and the runs of its subtasks, each of
//! which is a separate task.

use std::collections::BTreeMap;

use super::entry::TaskResult;
use super::page::{SubtaskRow, TaskRow};
use super::state::TaskState;
use selvedge_core::model::{MicroUsd, Outcome, PlanResult, RunId, SubtaskResult};
use selvedge_core::plan::all_unchanged;
use selvedge_core::run::Run;

impl TaskRow {
    /// Whether a subtask awaits review before the plan continues.
    pub fn is_plan_awaiting_review(&self) -> bool {
        let waits = |subtask: &SubtaskRow| subtask.state == Some(TaskState::NeedsReview);
        !self.state.is_terminal() && self.subtasks.iter().any(waits)
    }

    /// The outcome, or current state, of the plan.
    pub fn plan_outcome(&self) -> Outcome {
        match self.outcome {
            Some(outcome) => outcome,
            None if self.is_plan_awaiting_review() => Outcome::NeedsReview,
            None => Outcome::Interrupted,
        }
    }

    /// The plan's result, from the runs of those subtasks that have begun; `told` is the result that the hub stored at
    /// its end.
    pub fn plan_result(
        &self,
        runs: &BTreeMap<RunId, Run>,
        result: Option<TaskResult>,
    ) -> PlanResult {
        let result = result.unwrap_or_else(|| TaskResult {
            estimated_cost_usd: self.cost.micro_usd.map(MicroUsd::as_usd),
            cost_source: self.cost.source,
            ..TaskResult::without_run(self.plan_outcome(), self.reason.clone().unwrap_or_default())
        });
        let unchanged = |it: &SubtaskRow| runs.get(&RunId::from(it.task_id))?.is_unchanged();
        PlanResult {
            unchanged: all_unchanged(self.subtasks.iter().map(unchanged)),
            task_id: self.task_id,
            run_id: RunId::from(self.task_id),
            status: result.status,
            outcome: result.outcome,
            reason: result.reason,
            chosen: None,
            confidence: None,
            review: result.review,
            subtasks: self.subtasks.iter().map(|it| it.result(runs)).collect(),
            tokens_in: result.tokens_in,
            tokens_out: result.tokens_out,
            estimated_cost_usd: result.estimated_cost_usd,
            cost_source: result.cost_source,
            worked_ms: result.execution_ms,
            verification_status: result.verification_status,
        }
    }
}

impl SubtaskRow {
    fn result(&self, runs: &BTreeMap<RunId, Run>) -> SubtaskResult {
        let run = runs.get(&RunId::from(self.task_id));
        let is_over = self.state.is_some_and(TaskState::is_terminal);
        SubtaskResult {
            id: self.id.clone(),
            task_id: self.task_id,
            depends_on: self.depends_on.clone(),
            run_id: run.map(|run| run.run_id),
            outcome: self.outcome.filter(|_| is_over),
            reason: self.reason.clone().unwrap_or_default(),
            result: run.map(Run::result),
        }
    }
}
