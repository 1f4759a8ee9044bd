//! Sessions of the dashboard: listing and ending them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use selvedge_protocol::{SessionPage, SessionPerson, SessionRow};
use selvedge_store::hub::LoginSession;
use uuid::Uuid;

use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::service::Actor;
use crate::task_rows::timestamp;

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<SessionPage>, ApiError> {
    let sessions = hub.store.list_sessions(caller.0.project).await?;
    Ok(Json(SessionPage {
        sessions: sessions.iter().map(session_row).collect(),
    }))
}

fn session_row(session: &LoginSession) -> SessionRow {
    let idle_end = session.last_used_at.saturating_add(session.idle_ms);
    let token_id = session.owner.token_id();
    SessionRow {
        id: session.session_id.to_string(),
        token: token_id.map(|_| session.owner.name().to_owned()),
        token_id: token_id.map(|id| id.to_string()),
        person: session.owner.person().map(|person| SessionPerson {
            name: person.name.clone(),
            id: person.id.clone(),
        }),
        created_at: timestamp(session.created_at),
        last_used_at: timestamp(session.last_used_at),
        expires_at: timestamp(session.expires_at.min(idle_end)),
    }
}

pub(super) async fn end(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::not_found("session");
    let id: Uuid = session.parse().map_err(|_| missing())?;
    let actor = Actor::from(caller);
    let project = actor.project.clone();
    if !hub.store.end_session(project, id, actor.into()).await? {
        return Err(missing());
    }
    hub.active_access.end_session(id);
    Ok(StatusCode::NO_CONTENT)
}
