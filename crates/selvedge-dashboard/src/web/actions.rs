//! Actions of users. Every form is checked for its token before it is read.

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use selvedge_core::model::ReviewTarget;
use selvedge_protocol::ReviewDecision;

use super::SharedDashboard;
use super::auth::LoginSession;
use super::respond::{FormFields, FormResult, PageResult, form_fields, redirect_to, render_error};
use crate::backend::{DashboardError, ReviewSubmission};

/// Longest reason, in characters.
const MAX_REASON_CHARS: usize = 4000;

/// Returns the fields of a form if it has the user's token and the user may act.
fn validate_form(login: &LoginSession, sent: FormResult) -> Result<FormFields, Response> {
    let fields = form_fields(sent);
    let refuse = |why: &str| render_error(Some(login), &DashboardError::Refused(why.to_owned()));
    if !login.accepts_form_token(&fields.csrf) {
        return Err(refuse(
            "the form belongs to another login or has expired; reload the page",
        ));
    }
    if !login.user.can_act {
        return Err(refuse("your token is read-only"));
    }
    Ok(fields)
}

fn action_response(
    login: &LoginSession,
    id: &str,
    result: Result<String, DashboardError>,
) -> PageResult {
    match result {
        Ok(_) => Ok(redirect_to(&format!("/tasks/{id}"))),
        Err(error) => Err(render_error(Some(login), &error)),
    }
}

/// Checks that an id can be part of a URL unchanged.
fn validate_id(login: &LoginSession, id: String) -> Result<String, Response> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.bytes().all(plain) {
        return Ok(id);
    }
    let error = DashboardError::NotFound("invalid task id".to_owned());
    Err(render_error(Some(login), &error))
}

/// Parses a review decision. It names the work that the page showed.
fn parse_decision(fields: &FormFields) -> Result<ReviewSubmission, &'static str> {
    let reason: String = fields
        .reason
        .trim()
        .chars()
        .take(MAX_REASON_CHARS)
        .collect();
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

/// `POST /tasks/{id}/review`.
pub(super) async fn review(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    Path(id): Path<String>,
    sent: FormResult,
) -> PageResult {
    let fields = validate_form(&login, sent)?;
    let id = validate_id(&login, id)?;
    let decision = parse_decision(&fields)
        .map_err(|why| render_error(Some(&login), &DashboardError::Refused(why.to_owned())))?;
    let answer = dashboard.backend.review(&login.user, &id, decision).await;
    action_response(&login, &id, answer)
}

/// `POST /tasks/{id}/cancel`.
pub(super) async fn cancel(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
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
    Extension(login): Extension<LoginSession>,
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
