//! Actions of users. Every form is checked for its token before it is read.

use axum::Extension;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use selvedge_core::model::ReviewTarget;
use selvedge_protocol::ReviewDecision;

use super::SharedDashboard;
use super::auth::RequestSession;
use super::held_decisions::{HOLD, HoldOutcome};
use super::respond::{
    FormFields, FormResult, PageResult, form_fields, is_local_path, redirect_to, render_error,
};
use super::views::find_task;
use crate::backend::{DashboardError, HeldDecisionEnd, PendingReview, ReviewSubmission};
use crate::pages::HeldDecision;

/// Longest reason, in characters, comments included.
const MAX_REASON_CHARS: usize = 4000;
/// Maximum number of tasks of a bulk action.
const MAX_BULK_TASKS: usize = 100;

fn refuse(login: &RequestSession, why: &str) -> Response {
    render_error(Some(login), &DashboardError::Refused(why.to_owned()))
}

/// Returns the fields of a form if it has the user's token and the user may act.
pub(super) fn validate_form(
    login: &RequestSession,
    sent: FormResult,
) -> Result<FormFields, Response> {
    let fields = form_fields(sent);
    if !login.accepts_form_token(&fields.csrf) {
        return Err(refuse(
            login,
            "the form belongs to another login or has expired; reload the page",
        ));
    }
    if !login.user.can_act {
        return Err(refuse(login, "your access is read-only"));
    }
    Ok(fields)
}

fn action_response(
    login: &RequestSession,
    id: &str,
    result: Result<String, DashboardError>,
) -> PageResult {
    match result {
        Ok(_) => Ok(redirect_to(&format!("/tasks/{id}"))),
        Err(error) => Err(render_error(Some(login), &error)),
    }
}

/// Checks that an id can be part of a URL unchanged.
fn validate_id(login: &RequestSession, id: String) -> Result<String, Response> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.bytes().all(plain) {
        return Ok(id);
    }
    let error = DashboardError::NotFound("invalid task id".to_owned());
    Err(render_error(Some(login), &error))
}

/// The reason, followed by the comments on lines and files, one per line: `src/a.rs:12: name it`.
fn reason_with_comments(fields: &FormFields) -> String {
    let mut reason = fields.reason.trim().to_owned();
    let mut comments: Vec<(&str, u32, &str)> = Vec::new();
    for (name, text) in &fields.more {
        let Some((line, path)) = name.strip_prefix("c:").and_then(|it| it.split_once(':')) else {
            continue;
        };
        if let (Ok(line), false) = (line.parse(), text.trim().is_empty()) {
            comments.push((path, line, text.trim()));
        }
    }
    comments.sort_unstable();
    for (path, line, text) in comments {
        let line = if line == 0 {
            String::new()
        } else {
            format!(":{line}")
        };
        if !reason.is_empty() {
            reason.push('\n');
        }
        reason.push_str(&format!("{path}{line}: {text}"));
    }
    reason.chars().take(MAX_REASON_CHARS).collect()
}

/// Parses a review decision. It names the work that the page showed.
fn parse_decision(fields: &FormFields) -> Result<ReviewSubmission, &'static str> {
    let reason = reason_with_comments(fields);
    let review = match (fields.decision.as_str(), fields.retry.as_str()) {
        ("accept", "") => ReviewDecision::Accept,
        ("accept", _) => {
            return Err("cannot accept and retry; either accept or reject");
        }
        ("reject", _) if reason.is_empty() => {
            return Err("a rejection needs a reason");
        }
        ("reject", "") => ReviewDecision::Reject,
        ("reject", "yes") => ReviewDecision::Retry,
        _ => return Err("missing decision: accept or reject"),
    };
    let attempt = match fields.attempt.as_str() {
        "" => None,
        number => Some(number.parse().map_err(|_| "invalid attempt number")?),
    };
    let tree = match fields.tree.as_str() {
        "" => None,
        tree => Some(tree.parse().map_err(|_| "invalid tree id")?),
    };
    let named = ReviewTarget { attempt, tree };
    if named == ReviewTarget::default() {
        return Err("the form does not name the reviewed attempt; reload the page");
    }
    Ok(ReviewSubmission {
        review,
        target: named,
        reason,
    })
}

/// `POST /tasks/{id}/review`: the decision takes effect after a minute, so that it can be undone.
pub(super) async fn review(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    let fields = validate_form(&login, sent)?;
    let id = validate_id(&login, id)?;
    let decision = parse_decision(&fields).map_err(|why| refuse(&login, why))?;
    let task = find_task(&dashboard, &login, &id).await?;
    // Other work than the reviewer saw is refused with a reason.
    let pending = task
        .review
        .as_ref()
        .filter(|pending| task.rights.review && pending.target.check(&decision.target).is_ok());
    let Some(pending) = pending else {
        let answer = dashboard.backend.review(&login.user, &id, decision).await;
        return action_response(&login, &id, answer);
    };
    let decision = ReviewSubmission {
        target: pending.target.clone(),
        ..decision
    };
    let (backend, held) = (&dashboard.backend, &dashboard.held);
    match held.hold(backend, &pending.task, &login.user, decision, HOLD) {
        HoldOutcome::Held => Ok(redirect_to(&format!("/tasks/{id}"))),
        HoldOutcome::AlreadyHeld => Err(refuse(
            &login,
            "another decision about this work takes effect within a minute; undo it first",
        )),
        HoldOutcome::Full => Err(refuse(
            &login,
            "too many decisions are held; decide again in a minute",
        )),
    }
}

/// The work of a task whose held decision a user wants to undo or apply, if the user may review it.
async fn find_reviewed_work(
    dashboard: &SharedDashboard,
    login: &RequestSession,
    id: String,
    sent: FormResult,
) -> Result<PendingReview, Response> {
    validate_form(login, sent)?;
    let id = validate_id(login, id)?;
    let task = find_task(dashboard, login, &id).await?;
    match task.review {
        None => Err(refuse(
            login,
            "the task is not awaiting review: a decision has taken effect, or the task was cancelled",
        )),
        Some(_) if !task.rights.review => Err(refuse(login, "you may not review this task")),
        Some(pending) => Ok(pending),
    }
}

/// The answer if no decision about work that awaits review can be undone or applied.
fn nothing_held(login: &RequestSession) -> Response {
    refuse(
        login,
        "no decision about this work is held: it was undone, or it could not be carried out, or it takes effect now",
    )
}

/// Records who undid or applied a held decision, even if the client disconnects meanwhile.
async fn record_end(
    dashboard: &SharedDashboard,
    login: &RequestSession,
    task: &str,
    decision: &HeldDecision,
    end: HeldDecisionEnd,
) {
    let backend = Arc::clone(&dashboard.backend);
    let (user, task) = (login.user.clone(), task.to_owned());
    let (reviewer, review) = (decision.user.name.clone(), decision.submission.review);
    let recording = tokio::spawn(async move {
        let recorded = backend.record_held_decision(&user, &task, end, review, &reviewer);
        // It has happened, so no failure is shown.
        if let Err(error) = recorded.await {
            let by = user.name;
            tracing::error!(
                task,
                reviewer,
                by,
                ?end,
                "cannot record the end of a held review decision: {error}"
            );
        }
    });
    if let Err(panic) = recording.await {
        tracing::error!("cannot record the end of a held review decision: {panic}");
    }
}

/// `POST /tasks/{id}/review/undo`.
pub(super) async fn undo_review(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    let work = find_reviewed_work(&dashboard, &login, id, sent).await?;
    let taken = dashboard.held.take(&work.task, &work.target);
    let decision = taken.ok_or_else(|| nothing_held(&login))?;
    record_end(
        &dashboard,
        &login,
        &work.task,
        &decision,
        HeldDecisionEnd::Undone,
    )
    .await;
    Ok(redirect_to(&format!("/tasks/{}", work.task)))
}

/// `POST /tasks/{id}/review/apply`: carries out a held decision at once.
pub(super) async fn apply_review(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    let work = find_reviewed_work(&dashboard, &login, id, sent).await?;
    let (backend, held) = (&dashboard.backend, &dashboard.held);
    let begun = held.apply(backend, &work.task, &work.target);
    let (decision, done) = begun.ok_or_else(|| nothing_held(&login))?;
    record_end(
        &dashboard,
        &login,
        &work.task,
        &decision,
        HeldDecisionEnd::Applied,
    )
    .await;
    let answer = done.await.map_err(DashboardError::failed).flatten();
    action_response(&login, &work.task, answer)
}

/// `POST /bulk`: cancels or retries the selected tasks, independently of each other. An error page lists the refused
/// ones.
pub(super) async fn bulk(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    sent: FormResult,
) -> PageResult {
    let fields = validate_form(&login, sent)?;
    let selected = fields.more.keys();
    let selected = selected.filter_map(|name| name.strip_prefix("task-"));
    let selected: Vec<&str> = selected.take(MAX_BULK_TASKS).collect();
    if selected.is_empty() {
        return Err(refuse(&login, "no task is selected"));
    }
    let mut refused = Vec::new();
    for id in selected {
        let id = validate_id(&login, id.to_owned())?;
        let result = match fields.decision.as_str() {
            "cancel" => dashboard.backend.cancel(&login.user, &id).await,
            "retry" => dashboard.backend.retry(&login.user, &id).await,
            _ => return Err(refuse(&login, "missing action: cancel or retry")),
        };
        if let Err(error) = result {
            refused.push(format!("{id}: {error}"));
        }
    }
    if !refused.is_empty() {
        return Err(refuse(&login, &refused.join("; ")));
    }
    let next = fields.next.as_str();
    Ok(redirect_to(if is_local_path(next) { next } else { "/" }))
}

/// `POST /tasks/{id}/cancel`.
pub(super) async fn cancel(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    validate_form(&login, sent)?;
    let id = validate_id(&login, id)?;
    let answer = dashboard.backend.cancel(&login.user, &id).await;
    action_response(&login, &id, answer)
}

/// `POST /tasks/{id}/retry`.
pub(super) async fn retry(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    validate_form(&login, sent)?;
    let id = validate_id(&login, id)?;
    match dashboard.backend.retry(&login.user, &id).await {
        Ok(new) => {
            let new = validate_id(&login, new)?;
            Ok(redirect_to(&format!("/tasks/{new}")))
        }
        Err(error) => Err(render_error(Some(&login), &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_follow_the_reason_with_their_lines() {
        let mut fields = FormFields {
            reason: " Too slow. ".to_owned(),
            ..FormFields::default()
        };
        for (name, text) in [
            ("c:12:src/a b.rs", "name it"),
            ("c:3:src/a b.rs", "why?"),
            ("c:0:z:1", "remove"),
            ("c:7:src/a b.rs", "  "),
            ("c:x:y", "ignored"),
        ] {
            fields.more.insert(name.to_owned(), text.to_owned());
        }
        assert_eq!(
            reason_with_comments(&fields),
            "Too slow.\nsrc/a b.rs:3: why?\nsrc/a b.rs:12: name it\nz:1: remove"
        );
    }
}
