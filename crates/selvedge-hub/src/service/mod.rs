//! Operations on tasks: submit, find, list, cancel, retry and review. The REST API and the dashboard are interfaces to
//! these operations; nothing here depends on HTTP or on pages.

mod error;
mod projects;
mod review;
mod rows;
mod submit;

use selvedge_core::model::TaskId;
use selvedge_protocol::PersonId;
use selvedge_store::fault;
use selvedge_store::hub::{AuditActor, AuditChannel, ChangeAnswer, TaskChange, TaskView};
use serde::de::DeserializeOwned;
use uuid::Uuid;

pub(crate) use self::error::{ServiceError, describe_fields};
pub(crate) use self::projects::{ProjectLimits, find_project, total_usage, visible_workers};
pub(crate) use self::review::{
    ReviewOrder, may_review, record_held_decision, review, review_target,
};
pub(crate) use self::rows::{full_row, list, show};
pub(crate) use self::submit::{Submission, check_outcome, retry, retry_all, submit};
use crate::hub::Hub;
use crate::plans;

/// The user of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// The project whose tasks the user sees.
    pub(crate) project: String,
    /// The name of the user's token, or of the person, which is recorded.
    pub(crate) name: String,
    /// The user's token.
    pub(crate) token_id: Option<Uuid>,
    /// The person, if they signed in at the identity provider.
    pub(crate) person: Option<PersonId>,
    /// How the user reached the hub.
    pub(crate) channel: AuditChannel,
}

impl From<Actor> for AuditActor {
    fn from(actor: Actor) -> Self {
        Self {
            name: actor.name,
            token_id: actor.token_id,
            person: actor.person,
            channel: actor.channel,
        }
    }
}

/// Parses JSON. The error names the invalid field.
pub(crate) fn parse_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, ServiceError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        ServiceError::invalid_field(&field, error.into_inner().to_string())
    })
}

/// A task and its body, if the user may see it.
pub(crate) async fn find(
    hub: &Hub,
    actor: &Actor,
    task: &str,
) -> Result<(TaskView, String), ServiceError> {
    let task: TaskId = task.parse().map_err(|_| ServiceError::TaskNotFound)?;
    let found = hub.store.task(task).await?;
    found
        .filter(|(view, _)| view.project == actor.project)
        .ok_or(ServiceError::TaskNotFound)
}

/// Cancels a task, with the running subtask of a plan.
pub(crate) async fn cancel(
    hub: &Hub,
    actor: &Actor,
    task: &str,
    reason: String,
) -> Result<(), ServiceError> {
    let (view, _) = find(hub, actor, task).await?;
    let change = TaskChange::Cancel {
        actor: actor.clone().into(),
        reason,
    };
    apply_change(hub, view.row.task_id, change).await?;
    fault::failpoint("hub.cancel.committed");
    if plans::is_plan(&view) {
        plans::cancel_plan_work(hub, view.row.task_id).await?;
    }
    Ok(())
}

/// Applies a change that a user requested.
async fn apply_change(hub: &Hub, task: TaskId, change: TaskChange) -> Result<(), ServiceError> {
    let verdict = hub.change(task, change).await?;
    match verdict.map(|verdict| verdict.answer) {
        None => Err(ServiceError::TaskNotFound),
        Some(ChangeAnswer::Applied) => Ok(()),
        Some(ChangeAnswer::Refused { detail, .. }) => Err(ServiceError::Conflict(detail)),
    }
}
