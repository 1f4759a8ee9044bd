//! Resolves plans and best-of-N runs. Each of their runs is a task that is resolved like any other.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::model::{
    Budget, MicroUsd, ParentPlan, PlanSpec, PlannedSubtask, RunId, RunSpec, Task, TaskId,
};
use selvedge_core::plan;
use selvedge_engine::workspace::Workspace;
use uuid::Uuid;

use super::{ResolvedSpec, run_spec};
use crate::error::CliError;

/// Resolves a plan with its subtasks.
pub(crate) fn plan_spec(
    run_id: RunId,
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<ResolvedSpec<PlanSpec>, CliError> {
    plan::check_subtasks(&task.subtasks).map_err(|error| {
        CliError::usage(format!("invalid plan: {error}"))
            .hint("nothing was run; fix the plan's `subtasks`")
    })?;
    if task.command.is_some() {
        return Err(CliError::usage("a plan cannot have a `command`")
            .hint("make it the command of a check, or remove it"));
    }
    let mut notices: Vec<String> = Vec::new();
    let mut subtasks = Vec::new();
    for subtask in &task.subtasks {
        let resolved = run_spec(&plan::subtask_as_task(task, subtask), settings, dir, in_git)
            .map_err(|error| error.with_location(format!("subtask `{}`", subtask.id)))?;
        let new = resolved
            .notices
            .into_iter()
            .filter(|it| !notices.contains(it));
        notices.extend(new.collect::<Vec<_>>());
        let part_of = Some(ParentPlan {
            plan: run_id,
            subtask: subtask.id.clone(),
        });
        subtasks.push(PlannedSubtask {
            id: subtask.id.clone(),
            depends_on: subtask.depends_on.clone(),
            spec: RunSpec {
                part_of,
                ..resolved.spec
            },
        });
    }
    let spec = PlanSpec {
        task_id: task.task_id.unwrap_or_else(|| TaskId::new(Uuid::now_v7())),
        description: task.description.clone(),
        workspace: dir.to_owned(),
        subtasks,
        best_of_floor: None,
        budget: task.budget.unwrap_or_default().or(settings.budget),
        selvedge_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(ResolvedSpec { spec, notices })
}

/// Resolves a best-of-N run, which runs a task several times concurrently, each in a copy of the directory in `copies`.
/// The comparison of the results replaces tier 3, so each run is judged only by the tiers below.
pub(crate) fn best_of_spec(
    run_id: RunId,
    task: &Task,
    settings: &ResolvedConfig,
    workspace: &Workspace,
    copies: &Path,
) -> Result<ResolvedSpec<PlanSpec>, CliError> {
    let (dir, times) = (workspace.dir(), settings.votes);
    let tier = task.verification_tier.unwrap_or(settings.verification_tier);
    let below = if settings.tier2_enabled { 2 } else { 1 };
    let once = Task {
        verification_tier: Some(tier.min(below)),
        ..task.clone()
    };
    let ResolvedSpec { spec, mut notices } = run_spec(&once, settings, dir, workspace.is_git())?;
    if !spec.snapshots || !workspace.is_self_contained() {
        return Err(CliError::usage(
            "best-of-N needs snapshots and a self-contained repository",
        )
        .hint("run in the root of a repository whose `.git` is a folder (not a linked worktree)")
        .hint("or use a vote of judges: --tier 3 without --best-of"));
    }
    let name = dir.file_name().unwrap_or("work".as_ref());
    let share = |cap: u64| cap / u64::from(times.max(1));
    let budget = spec.budget;
    let subtasks = (1..=times).map(|number| {
        let id = format!("execution {number}");
        let spec = RunSpec {
            part_of: Some(ParentPlan {
                plan: run_id,
                subtask: id.clone(),
            }),
            task_id: TaskId::new(Uuid::now_v7()),
            workspace: copies.join(number.to_string()).join(name),
            repository: spec
                .repository
                .clone()
                .or_else(|| Some(dir.display().to_string())),
            budget: Budget {
                cost_micro_usd: budget.cost_micro_usd.map(|cap| MicroUsd(share(cap.0))),
                tokens: budget.tokens.map(share),
                duration_ms: budget.duration_ms,
                attempt_cost_micro_usd: budget.attempt_cost_micro_usd,
                attempt_tokens: budget.attempt_tokens,
            },
            ..spec.clone()
        };
        PlannedSubtask {
            id,
            depends_on: Vec::new(),
            spec,
        }
    });
    notices.push(format!(
        "the task is run {times} times in parallel, at about {times} times the cost; cost and token \
         limits are divided among the runs"
    ));
    let spec = PlanSpec {
        task_id: spec.task_id,
        description: task.description.clone(),
        workspace: dir.to_owned(),
        subtasks: subtasks.collect(),
        best_of_floor: Some(settings.confidence_floor),
        budget,
        selvedge_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(ResolvedSpec { spec, notices })
}
