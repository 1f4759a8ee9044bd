//! Submits tasks, for the first time or again.

use selvedge_core::model::{Task, TaskId};
use selvedge_protocol::{BulkRetryAnswer, RetriedTask, SubmitAnswer, TaskState};
use selvedge_store::fault;
use selvedge_store::hub::{ListFilter, NewTask, SubmitOutcome};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Actor, ServiceError, find, parse_json};
use crate::hub::Hub;
use crate::new_task::new_task;
use crate::validate;

/// A request to submit a task.
#[derive(Debug)]
pub(crate) struct Submission {
    /// The valid task.
    pub(crate) task: Task,
    /// Warnings about changes that were made to it.
    pub(crate) warnings: Vec<String>,
    /// The task that this one retries.
    pub(crate) retry_of: Option<TaskId>,
    /// The client's idempotency key and a hash of the whole request.
    pub(crate) idempotency: Option<(String, [u8; 32])>,
}

/// Adds a task to the queue.
pub(crate) async fn submit(
    hub: &Hub,
    actor: &Actor,
    submission: Submission,
) -> Result<SubmitAnswer, ServiceError> {
    let Submission {
        mut task,
        mut warnings,
        retry_of,
        idempotency,
    } = submission;
    let task_id = *task
        .task_id
        .get_or_insert_with(|| TaskId::new(Uuid::now_v7()));
    // Ids are fixed now, so that a subtask is started only once, however often and by whichever hub.
    for subtask in &mut task.subtasks {
        subtask.task_id = Some(TaskId::new(Uuid::now_v7()));
    }
    let new = NewTask {
        retry_of,
        idempotency,
        person: actor.person.clone(),
        actor: Some(actor.clone().into()),
        ..new_task(&task, task_id, &actor.project, &actor.name)?
    };
    let unschedulable = hub.sessions.why_unschedulable(&new);
    let outcome = hub.store.submit(new).await?;
    let (task_id, repeated) = check_outcome(outcome, &task, &actor.project)?;
    fault::failpoint("hub.submit.committed");
    hub.notify_changed(task_id);
    hub.wake.notify_one();
    warnings.extend(unschedulable);
    let state = if repeated {
        let found = hub.store.task(task_id).await?;
        found.map_or(TaskState::Queued, |(view, _)| view.row.lease.state)
    } else {
        TaskState::Queued
    };
    Ok(SubmitAnswer {
        task_id,
        state,
        warnings,
        repeated,
    })
}

/// The task that a submission has added, and whether an earlier request had; else why it was refused.
pub(crate) fn check_outcome(
    outcome: SubmitOutcome,
    task: &Task,
    project: &str,
) -> Result<(TaskId, bool), ServiceError> {
    match outcome {
        SubmitOutcome::New(id) => Ok((id, false)),
        SubmitOutcome::Duplicate(id) => Ok((id, true)),
        SubmitOutcome::IdempotencyConflict(id) => Err(ServiceError::Conflict(format!(
            "the idempotency key was already used for a different request (task {id})"
        ))),
        SubmitOutcome::IdTaken => {
            let detail = "a task with this task_id already exists";
            Err(ServiceError::Conflict(detail.to_owned()))
        }
        SubmitOutcome::RepositoryNotAllowed(allowed) => {
            let field = match task.workspace {
                Some(_) if task.repository.is_none() => "workspace",
                _ => "repository",
            };
            let allowed = allowed.join(", ");
            Err(ServiceError::invalid_field(
                field,
                format!("not allowed in the project `{project}`; allowed: {allowed}"),
            ))
        }
        SubmitOutcome::QueueFull { limit } => Err(ServiceError::LimitReached(format!(
            "the queue of the project `{project}` is full: its limit is {limit} queued tasks (`max_queued`); \
                 submit again when some have started, cancel queued tasks, or ask an administrator to raise the limit"
        ))),
        SubmitOutcome::ProjectDeleted => Err(ServiceError::Forbidden(format!(
            "the project `{project}` was deleted"
        ))),
    }
}

/// Submits a finished task again, as a new task that names it.
pub(crate) async fn retry(
    hub: &Hub,
    actor: &Actor,
    task: &str,
    idempotency_key: Option<&str>,
) -> Result<SubmitAnswer, ServiceError> {
    let (view, body) = find(hub, actor, task).await?;
    let (of, state) = (view.row.task_id, view.row.lease.state);
    if !state.is_terminal() {
        return Err(ServiceError::Conflict(format!(
            "the task is {}; only a finished task can be retried",
            state.as_str()
        )));
    }
    submit_again(hub, actor, of, &body, idempotency_key).await
}

/// Maximum number of tasks that one request submits again.
const MAX_BULK_RETRIES: usize = 100;

/// Submits finished tasks again: those that the filter selects, unless they have been submitted again
/// before. Subtasks are left out: their plan is retried as a whole. A task that is refused does not stop the others.
pub(crate) async fn retry_all(
    hub: &Hub,
    actor: &Actor,
    filter: ListFilter,
) -> Result<BulkRetryAnswer, ServiceError> {
    let filter = ListFilter {
        project: Some(actor.project.clone()),
        without_retried: true,
        ..filter
    };
    let page = hub.store.tasks(filter, MAX_BULK_RETRIES).await?;
    let mut tasks = Vec::new();
    for view in page.tasks.iter().filter(|view| view.part_of.is_none()) {
        let of = view.row.task_id;
        let Some((_, body)) = hub.store.task(of).await? else {
            continue;
        };
        // Concurrent requests retry a task only once.
        let key = format!("selvedge:bulk-retry:{of}");
        let retried = match submit_again(hub, actor, of, &body, Some(&key)).await {
            Ok(answer) => RetriedTask {
                task_id: of,
                new_task_id: Some(answer.task_id),
                repeated: answer.repeated,
                error: None,
            },
            Err(ServiceError::Store(error)) => return Err(ServiceError::Store(error)),
            Err(error) => RetriedTask {
                task_id: of,
                new_task_id: None,
                repeated: false,
                error: Some(error.to_string()),
            },
        };
        tasks.push(retried);
    }
    let last = page.tasks.last().filter(|_| page.more);
    Ok(BulkRetryAnswer {
        tasks,
        next_cursor: last.map(|view| view.row.task_id),
    })
}

async fn submit_again(
    hub: &Hub,
    actor: &Actor,
    of: TaskId,
    body: &str,
    idempotency_key: Option<&str>,
) -> Result<SubmitAnswer, ServiceError> {
    let mut again: Task = parse_json(body.as_bytes())?;
    again.task_id = None;
    // The hub's rules may have changed since.
    let warnings = validate::stored_task(&mut again, &hub.settings.defaults)
        .map_err(ServiceError::InvalidFields)?;
    let hash: [u8; 32] = Sha256::digest(format!("retry {of}")).into();
    let submission = Submission {
        task: again,
        warnings,
        retry_of: Some(of),
        idempotency: idempotency_key.map(|key| (key.to_owned(), hash)),
    };
    submit(hub, actor, submission).await
}
