//! The form of a new task: empty, or with the fields of an earlier task.

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use selvedge_core::model::Task;
use serde::Deserialize;

use super::SharedDashboard;
use super::actions::validate_form;
use super::auth::RequestSession;
use super::respond::{FormResult, PageResult, page_frame, redirect_to, render_error, render_page};
use crate::backend::{DashboardError, TaskQuery};
use crate::pages::{NavItem, NewTaskForm, NewTaskPage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewTaskQuery {
    from: String,
    repository: String,
    workspace: String,
}

/// `GET /new?from=ID`, or `GET /new?repository=URL`.
pub(super) async fn form(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    query: Result<Query<NewTaskQuery>, QueryRejection>,
) -> PageResult {
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let from = given(query.from);
    let task = dashboard.backend.draft(&login.user, from.as_deref()).await;
    let mut task = task.map_err(|error| render_error(Some(&login), &error))?;
    task.repository = given(query.repository).or(task.repository);
    task.workspace = given(query.workspace).or(task.workspace);
    let is_begun = !task.description.is_empty();
    Ok(show(&dashboard, &login, &task, "", is_begun).await)
}

async fn show(
    dashboard: &SharedDashboard,
    login: &RequestSession,
    task: &Task,
    refused: &str,
    command: bool,
) -> Response {
    // The agents are only suggestions.
    let tasks = dashboard
        .backend
        .tasks(&login.user, &TaskQuery::default())
        .await;
    let agents = tasks.map(|tasks| tasks.agents).unwrap_or_default();
    let frame = page_frame(login, "New task", NavItem::Tasks);
    let status = if refused.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    render_page(
        status,
        &NewTaskPage::new(frame, task, agents, refused, command),
    )
}

/// `POST /new`: submits the task, or shows its command line.
pub(super) async fn submit(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    sent: FormResult,
) -> PageResult {
    let fields = validate_form(&login, sent)?;
    let field = |name: &str| fields.more.get(name).map_or("", String::as_str);
    let form = NewTaskForm {
        base: field("base"),
        description: field("description"),
        criteria: field("criteria"),
        repository: field("repository"),
        revision: field("revision"),
        workspace: field("workspace"),
        agent: field("agent"),
        checks: field("checks"),
        retries: field("retries"),
        cost: field("cost"),
        tokens: field("tokens"),
        minutes: field("minutes"),
        labels: field("labels"),
    };
    let task = form
        .task()
        .map_err(|why| render_error(Some(&login), &DashboardError::Refused(why.to_owned())))?;
    if fields.decision == "preview" {
        return Ok(show(&dashboard, &login, &task, "", true).await);
    }
    match dashboard.backend.submit(&login.user, task.clone()).await {
        Ok(id) => Ok(redirect_to(&format!("/tasks/{id}"))),
        // The user's input is kept.
        Err(DashboardError::Refused(why)) => Ok(show(&dashboard, &login, &task, &why, false).await),
        Err(error) => Err(render_error(Some(&login), &error)),
    }
}
