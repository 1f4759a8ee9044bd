//! Converts a submitted task for the store: the text that lists show, and the labels that a worker needs.

use selvedge_core::model::{ParentPlan, Task, TaskId};
use selvedge_core::route::named_agents;
use selvedge_protocol::PLAN_LABEL;
use selvedge_store::hub::{HubStoreError, NewTask};

/// Maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 200;

/// A task in the store's form.
pub(crate) fn new_task(
    task: &Task,
    task_id: TaskId,
    project: &str,
    submitted_by: &str,
) -> Result<NewTask, HubStoreError> {
    let is_plan = !task.subtasks.is_empty();
    let attempts = task.max_verification_retries.unwrap_or(0).saturating_add(1);
    let body =
        serde_json::to_string(task).map_err(|error| HubStoreError::Damaged(error.to_string()))?;
    Ok(NewTask {
        task_id,
        project: project.to_owned(),
        submitted_by: submitted_by.to_owned(),
        person: None,
        actor: None,
        retry_of: None,
        part_of: task.part_of.as_ref().map(|part| ParentPlan {
            plan: part.parent_task_id.into(),
            subtask: part.subtask.clone(),
        }),
        title: title(task),
        agent: if is_plan {
            Some("plan".to_owned())
        } else {
            named_agents(task).next().map(|(_, name)| name.to_owned())
        },
        place: task.repository.clone().or_else(|| task.workspace.clone()),
        priority: task.priority.unwrap_or(0),
        labels: if is_plan {
            vec![PLAN_LABEL.to_owned()]
        } else {
            task.labels.clone()
        },
        max_attempts: if is_plan {
            let all = task.subtasks.iter();
            all.map(|it| {
                it.max_verification_retries
                    .map_or(attempts, |it| it.saturating_add(1))
            })
            .sum()
        } else {
            attempts
        },
        body,
        idempotency: None,
    })
}

fn title(task: &Task) -> String {
    task.title()
        .chars()
        .filter(|char| !char.is_control())
        .take(MAX_TITLE_CHARS)
        .collect()
}
