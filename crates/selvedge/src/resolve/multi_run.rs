//! What is frozen of several runs: the subtasks of a plan, and the executions of one task that are held
//! against each other. Each of them is a task of its own, frozen as any other.

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

/// Resolves a task that is a plan, and each of its subtasks with it.
pub(crate) fn plan_spec(
    run_id: RunId,
    whole: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<ResolvedSpec<PlanSpec>, CliError> {
    plan::check_subtasks(&whole.subtasks).map_err(|error| {
        CliError::usage(format!("the plan cannot be carried out: {error}"))
            .hint("nothing was run; mend the plan's `subtasks`")
    })?;
    if whole.command.is_some() {
        return Err(CliError::usage("a plan has no `command` of its own")
            .hint("make it the command of a check, or leave it out"));
    }
    let mut notices: Vec<String> = Vec::new();
    let mut subtasks = Vec::new();
    for subtask in &whole.subtasks {
        let frozen = run_spec(
            &plan::subtask_as_task(whole, subtask),
            settings,
            dir,
            in_git,
        )
        .map_err(|error| error.with_location(format!("subtask `{}`", subtask.id)))?;
        let new = frozen
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
                ..frozen.spec
            },
        });
    }
    let spec = PlanSpec {
        task_id: whole.task_id.unwrap_or_else(|| TaskId::new(Uuid::now_v7())),
        description: whole.description.clone(),
        workspace: dir.to_owned(),
        subtasks,
        contest: None,
        budget: whole.budget.unwrap_or_default().or(settings.budget),
        selvedge_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(ResolvedSpec { spec, notices })
}

/// Resolves a task that is executed several times side by side, each in a copy of the directory below
/// `copies`. Tier 3 is then their comparison, so each is judged by the tiers below it.
pub(crate) fn best_of_spec(
    run_id: RunId,
    whole: &Task,
    settings: &ResolvedConfig,
    workspace: &Workspace,
    copies: &Path,
) -> Result<ResolvedSpec<PlanSpec>, CliError> {
    let (dir, times) = (workspace.dir(), settings.votes);
    let tier = whole
        .verification_tier
        .unwrap_or(settings.verification_tier);
    let below = if settings.tier2_enabled { 2 } else { 1 };
    let once = Task {
        verification_tier: Some(tier.min(below)),
        ..whole.clone()
    };
    let ResolvedSpec { spec, mut notices } = run_spec(&once, settings, dir, workspace.is_git())?;
    if !spec.snapshots || !workspace.is_self_contained() {
        return Err(CliError::usage(
            "several executions need a repository of its own to copy, with snapshots",
        )
        .hint("work in the root of a repository whose `.git` is a folder (no linked work tree)")
        .hint("or let several judges vote: --tier 3 without --executions"));
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
            budget: Budget {
                cost_micro_usd: budget.cost_micro_usd.map(|cap| MicroUsd(share(cap.0))),
                tokens: budget.tokens.map(share),
                wall_ms: budget.wall_ms,
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
        "the task is executed {times} times side by side, at about {times} times the cost; a cap on cost or \
         tokens is shared among them"
    ));
    let spec = PlanSpec {
        task_id: spec.task_id,
        description: whole.description.clone(),
        workspace: dir.to_owned(),
        subtasks: subtasks.collect(),
        contest: Some(settings.confidence_floor),
        budget,
        selvedge_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(ResolvedSpec { spec, notices })
}
