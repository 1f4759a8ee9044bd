//! What a visitor does: every form is held to be theirs before it is read.

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use selvedge_core::lease::Review;
use selvedge_core::model::{ReviewTarget, TreeId};

use super::Shared;
use super::door::Inside;
use super::respond::{Fields, Page, Sent, fields, see, trouble};
use crate::reading::{Decision, Trouble};

/// Longest reason, in characters.
const LONGEST: usize = 4000;

/// The fields of a form that is the visitor's own, and theirs to send.
fn allowed(inside: &Inside, sent: Sent) -> Result<Fields, Response> {
    let fields = fields(sent);
    let refuse = |why: &str| trouble(Some(inside), &Trouble::Refused(why.to_owned()));
    if !inside.made(&fields.csrf) {
        return Err(refuse("the form was made for somebody else, or is too old"));
    }
    if !inside.visitor.may_act {
        return Err(refuse("your token only allows to look"));
    }
    Ok(fields)
}

fn done(inside: &Inside, id: &str, done: Result<String, Trouble>) -> Page {
    match done {
        Ok(_) => Ok(see(&format!("/tasks/{id}"))),
        Err(error) => Err(trouble(Some(inside), &error)),
    }
}

/// Whether it can stand in an address as it is.
fn name(inside: &Inside, id: String) -> Result<String, Response> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.bytes().all(plain) {
        return Ok(id);
    }
    let error = Trouble::NotFound("that is no task's name".to_owned());
    Err(trouble(Some(inside), &error))
}

/// The decision that a form makes. It names the work that the page showed.
fn decision(fields: &Fields) -> Result<Decision, &'static str> {
    let reason: String = fields.reason.trim().chars().take(LONGEST).collect();
    let review = match (fields.decision.as_str(), fields.retry.as_str()) {
        ("accept", "") => Review::Accept,
        ("accept", _) => {
            return Err("accepted work gets no other attempt: either accept or reject it");
        }
        ("reject", _) if reason.is_empty() => {
            return Err("say why you reject it: the reason is kept");
        }
        ("reject", "") => Review::Reject,
        ("reject", "yes") => Review::Retry,
        _ => return Err("neither accepted nor rejected"),
    };
    let attempt = match fields.attempt.as_str() {
        "" => None,
        number => Some(
            number
                .parse()
                .map_err(|_| "that is not an attempt's number")?,
        ),
    };
    let tree = Some(fields.tree.as_str()).filter(|tree| !tree.is_empty());
    let named = ReviewTarget {
        attempt,
        tree: tree.map(TreeId::new),
    };
    if named == ReviewTarget::default() {
        return Err("the form does not name the work that was reviewed: load the page again");
    }
    Ok(Decision {
        review,
        named,
        reason,
    })
}

/// `POST /tasks/{id}/review`.
pub(super) async fn review(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    sent: Sent,
) -> Page {
    let fields = allowed(&inside, sent)?;
    let id = name(&inside, id)?;
    let decision = decision(&fields)
        .map_err(|why| trouble(Some(&inside), &Trouble::Refused(why.to_owned())))?;
    let answer = face.reading.review(&inside.visitor, &id, decision).await;
    done(&inside, &id, answer)
}

/// `POST /tasks/{id}/cancel`.
pub(super) async fn cancel(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    sent: Sent,
) -> Page {
    allowed(&inside, sent)?;
    let id = name(&inside, id)?;
    let answer = face.reading.cancel(&inside.visitor, &id).await;
    done(&inside, &id, answer)
}

/// `POST /tasks/{id}/retry`.
pub(super) async fn retry(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    sent: Sent,
) -> Page {
    allowed(&inside, sent)?;
    let id = name(&inside, id)?;
    match face.reading.retry(&inside.visitor, &id).await {
        Ok(new) => {
            let new = name(&inside, new)?;
            Ok(see(&format!("/tasks/{new}")))
        }
        Err(error) => Err(trouble(Some(&inside), &error)),
    }
}
