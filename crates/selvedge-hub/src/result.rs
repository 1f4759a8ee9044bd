//! The result of a task: the worker's result, with later decisions about the task applied.

use selvedge_core::model::Outcome;
use selvedge_protocol::TaskResult;
use selvedge_protocol::lease::LeaseState;
use selvedge_store::hub::{HubStoreError, TaskView};
use serde_json::{Value, json};

use crate::hub::Hub;

/// The result as JSON; `None` before the first result, and for a task that continues after a review.
pub(crate) async fn load_body(hub: &Hub, view: &TaskView) -> Result<Option<String>, HubStoreError> {
    let lease = &view.row.lease;
    if lease.completion.is_none() {
        return Ok(None);
    }
    let stored_result = hub.store().result(view.row.task_id).await?;
    Ok(stored_result
        .map(|result| apply_later_decisions(result.body, lease, view.row.reason.as_deref())))
}

/// The parsed result; `None` if the worker of another program handed in something else.
pub(crate) async fn load_result(
    hub: &Hub,
    view: &TaskView,
) -> Result<Option<TaskResult>, HubStoreError> {
    let body = load_body(hub, view).await?;
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// Invariant: a result agrees with its task. The worker's result stays unchanged unless a person's review or
/// cancellation decided otherwise.
fn apply_later_decisions(body: String, lease: &LeaseState, reason: Option<&str>) -> String {
    let Some(outcome) = lease.outcome else {
        return body;
    };
    let Ok(Value::Object(mut result)) = serde_json::from_str(&body) else {
        return body;
    };
    let is_same = result.get("outcome") == Some(&json!(outcome));
    if is_same && lease.review.is_none() {
        return body;
    }
    let reason = match (outcome, &lease.cancel) {
        (Outcome::Cancelled, Some(why)) if !why.is_empty() => format!("cancelled: {why}"),
        (Outcome::Cancelled, _) => "cancelled on request".to_owned(),
        _ => reason.unwrap_or_default().to_owned(),
    };
    let plain = TaskResult::without_run(outcome, reason);
    let status = outcome.verification_status(lease.reports > 0);
    result.insert("status".to_owned(), json!(plain.status));
    result.insert("outcome".to_owned(), json!(outcome));
    result.insert("reason".to_owned(), json!(plain.reason));
    result.insert("verification_status".to_owned(), json!(status));
    if let Some(review) = &lease.review {
        result.insert("review".to_owned(), json!(review));
    }
    Value::Object(result).to_string()
}
