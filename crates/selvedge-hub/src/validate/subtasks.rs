//! The subtasks of a plan; each is validated like a task.

use selvedge_core::model::{Subtask, Task};
use selvedge_core::plan::{self, PlanError};
use selvedge_core::route::{SHELL_AGENT, requested_agent};
use serde_json::Value;

use super::FieldErrors;
use crate::settings::TaskDefaults;

/// Maximum number of subtasks of one plan.
const MAX_SUBTASKS: usize = 100;

pub(super) fn check(plan_task: &Task, defaults: &TaskDefaults, errors: &mut FieldErrors) {
    if plan_task.command.is_some() {
        errors.add(
            "command",
            "not allowed in a plan; make it the command of a check",
        );
    }
    if plan_task.subtasks.len() > MAX_SUBTASKS {
        let why = format!(
            "too many subtasks: {}; the maximum is {MAX_SUBTASKS}",
            plan_task.subtasks.len()
        );
        errors.add("subtasks", why);
        return;
    }
    if let Err(error) = plan::check_subtasks(&plan_task.subtasks) {
        errors.add(&error_path(&error, &plan_task.subtasks), error.to_string());
    }
    for (index, subtask) in plan_task.subtasks.iter().enumerate() {
        let mut own = FieldErrors::default();
        super::check(&standalone_task(subtask), defaults, &mut own);
        for error in own.0 {
            // A missing description is reported for the plan, and a subtask cannot have a command.
            if !matches!(error.field.as_str(), "description" | "command") {
                errors.add(&format!("subtasks.{index}.{}", error.field), error.detail);
            }
        }
        if requested_agent(&plan::subtask_as_task(plan_task, subtask)) == Some(SHELL_AGENT) {
            let why =
                format!("the agent `{SHELL_AGENT}` needs a `command`, which subtasks do not have");
            errors.add(&format!("subtasks.{index}.agent"), why);
        }
    }
}

/// A task with only the subtask's own fields.
fn standalone_task(subtask: &Subtask) -> Task {
    Task {
        description: subtask.description.clone(),
        agent: subtask.agent.clone(),
        expected_outputs: subtask.expected_outputs.clone(),
        verification_steps: subtask.verification_steps.clone(),
        verification_tier: subtask.verification_tier,
        ..Task::default()
    }
}

fn error_path(error: &PlanError, subtasks: &[Subtask]) -> String {
    let (id, field) = match error {
        PlanError::MissingId(number) => return format!("subtasks.{}.id", number.saturating_sub(1)),
        PlanError::Cycle(_) => return "subtasks".to_owned(),
        PlanError::DuplicateId(id) => (id, "id"),
        PlanError::MissingDescription(id) => (id, "description"),
        PlanError::UnknownDependency { id, .. } => (id, "depends_on"),
    };
    let index = subtasks.iter().rposition(|it| it.id == *id);
    format!("subtasks.{}.{field}", index.unwrap_or(0))
}

/// The number of retries of every subtask, as submitted.
pub(super) fn retries(subtasks: &mut Value) -> impl Iterator<Item = (usize, &mut Value)> {
    let each = subtasks.as_array_mut().into_iter().flatten().enumerate();
    each.filter_map(|(index, it)| Some((index, it.get_mut("max_verification_retries")?)))
}
