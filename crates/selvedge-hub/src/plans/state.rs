//! The state of a plan: its own row, its subtasks, and the next step.

use selvedge_core::model::{BaseTree, MicroUsd, Outcome, PlanMembership, Task, TaskId, TreeId};
use selvedge_core::plan::{self, ScheduleDecision, unblocks_dependents};
use selvedge_protocol::{FileRef, LeaseToken, RESULT_PATCH, TaskResult, TaskState};
use selvedge_store::hub::{HubStoreError, TaskView};

use super::subtasks::Subtasks;
use crate::hub::Hub;
use crate::result;

/// A plan and its subtasks.
pub(super) struct PlanState {
    pub(super) view: TaskView,
    pub(super) subtasks: Subtasks,
    /// Milliseconds that its subtasks were active; only computed if that is limited.
    active_ms: u64,
}

impl PlanState {
    /// Loads the plan with this id, if it exists.
    pub(super) async fn load(hub: &Hub, plan: TaskId) -> Result<Option<Self>, HubStoreError> {
        let Some((view, body)) = hub.store().task(plan).await? else {
            return Ok(None);
        };
        let task: Task = serde_json::from_str(&body)
            .map_err(|error| HubStoreError::Damaged(error.to_string()))?;
        let parts = Subtasks::of(hub, task).await?;
        let mut worked_ms: u64 = 0;
        if parts
            .task
            .budget
            .as_ref()
            .is_some_and(|it| it.duration_ms.is_some())
        {
            for view in parts.started() {
                let result = result::load_result(hub, view).await?;
                worked_ms = worked_ms.saturating_add(result.map_or(0, |it| it.execution_ms));
            }
        }
        Ok(Some(Self {
            view,
            subtasks: parts,
            active_ms: worked_ms,
        }))
    }

    pub(super) const fn id(&self) -> TaskId {
        self.view.row.task_id
    }

    pub(super) const fn state(&self) -> TaskState {
        self.view.row.lease.state
    }

    /// The credential of the plan's lease, if it is held.
    pub(super) fn lease_token(&self) -> Option<LeaseToken> {
        let row = &self.view.row;
        row.lease.is_held().then(|| row.lease_token())
    }

    /// Decides the next step.
    pub(super) fn decide_next(&self) -> ScheduleDecision {
        let may_spend = self.subtasks.remaining_budget(self.active_ms).is_some();
        plan::decide_next(&self.subtasks.nodes(), may_spend)
    }

    /// The subtask at this index as a task.
    pub(super) fn subtask_as_task(
        &self,
        index: usize,
        begins_from: Option<BaseTree>,
        plan_start: Option<TreeId>,
    ) -> Option<Task> {
        let plan_task = &self.subtasks.task;
        let subtask = plan_task.subtasks.get(index)?;
        let nodes = self.subtasks.nodes();
        let mut others = nodes.iter().enumerate().filter(|(at, _)| *at != index);
        // The branch must contain the work of the whole plan, so only the last subtask pushes it.
        let is_last = others.all(|(_, node)| node.outcome.is_some_and(unblocks_dependents));
        Some(Task {
            deliver: plan_task.deliver.filter(|_| is_last),
            // Without a budget of the plan, the budgets in the workers' settings apply.
            budget: plan_task
                .budget
                .and_then(|_| self.subtasks.remaining_budget(self.active_ms)),
            part_of: Some(PlanMembership {
                parent_task_id: self.id(),
                subtask: subtask.id.clone(),
                begins_from,
                plan_start,
            }),
            ..plan::subtask_as_task(plan_task, subtask)
        })
    }

    /// Builds the plan's result and the list of its files.
    pub(super) async fn build_result(
        &self,
        hub: &Hub,
        outcome: Outcome,
        reason: String,
    ) -> Result<(TaskResult, Vec<FileRef>), HubStoreError> {
        let parts = &self.subtasks;
        let reported = parts.started().any(|view| view.row.lease.reports > 0);
        let (cost, (tokens_in, tokens_out)) = (parts.cost(), parts.tokens());
        let mut sum = TaskResult {
            tokens_in,
            tokens_out,
            estimated_cost_usd: cost.micro_usd.map(MicroUsd::as_usd),
            cost_source: cost.source,
            verification_status: outcome.verification_status(reported),
            // A subtask that was lost too often, or cancelled while it was queued, has attempts but no
            // result.
            verification_attempts: parts.started().map(|view| view.row.lease.reports).sum(),
            ..TaskResult::without_run(outcome, reason)
        };
        let mut files = Vec::new();
        let mut unchanged = Vec::new();
        for view in parts.started() {
            let Some(result) = result::load_result(hub, view).await? else {
                unchanged.push(None);
                continue;
            };
            unchanged.push(result.unchanged);
            sum.execution_ms = sum.execution_ms.saturating_add(result.execution_ms);
            sum.warnings.extend(result.warnings);
        }
        sum.unchanged = plan::all_unchanged(unchanged.into_iter());
        if let Some(last) = parts.last_verified() {
            if let Some(result) = result::load_result(hub, last).await? {
                (sum.branch, sum.commit) = (result.branch, result.commit);
            }
            files = hub.store().files(last.row.task_id).await?;
            files.retain(|file| file.name == RESULT_PATCH);
        }
        Ok((sum, files))
    }
}
