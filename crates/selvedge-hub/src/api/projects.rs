//! Projects: creating, listing, changing and deleting them. Only administrators of the default project may do this; a
//! token of another project can read its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use selvedge_core::repository::RepositoryPatterns;
use selvedge_protocol::{
    DEFAULT_PROJECT, ProjectPage, ProjectRequest, ProjectRow, ProjectSettings, Scope,
    SubmitterUsage,
};
use selvedge_store::hub::{AuditActor, DeleteProjectOutcome, NewProject, Project};
use serde_json::{Map, Value};

use super::tasks::{BodyResult, read_body};
use crate::access::Caller;
use crate::auth::has_scope;
use crate::hub::Hub;
use crate::problem::ApiError;
use crate::service::{Actor, find_project, parse_json, total_usage};
use crate::task_rows::timestamp;

/// Maximum number of projects: each assignment reads all of them.
const MAX_PROJECTS: usize = 500;
/// Maximum number of patterns of repositories, and of characters of one.
const MAX_PATTERNS: usize = 200;
const MAX_PATTERN_CHARS: usize = 500;
const MAX_NAME_CHARS: usize = 63;

fn require_administrator(caller: &Caller) -> Result<(), ApiError> {
    if caller.is_of_default_project() {
        Ok(())
    } else {
        Err(ApiError::other_project())
    }
}

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ProjectPage>, ApiError> {
    require_administrator(&caller)?;
    let projects = hub.store.projects().await?;
    Ok(Json(ProjectPage {
        projects: projects.into_iter().map(project_row).collect(),
    }))
}

pub(super) async fn create(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    body: BodyResult,
) -> Result<Response, ApiError> {
    require_administrator(&caller)?;
    let request: ProjectRequest = parse_json(&read_body(body)?)?;
    if !is_project_name(&request.name) {
        let detail = format!(
            "must be 1 to {MAX_NAME_CHARS} lower-case letters, digits, `-`, `_` and `.`, and begin with a letter or a digit"
        );
        return Err(ApiError::field("name", detail));
    }
    check_settings(&request.settings)?;
    if hub.store.projects().await?.len() >= MAX_PROJECTS {
        return Err(ApiError::conflict(format!(
            "there are already {MAX_PROJECTS} projects; delete one first"
        )));
    }
    let new = NewProject {
        name: request.name.clone(),
        settings: request.settings,
        created_by: Actor::from(caller).into(),
    };
    if !hub.store.create_project(new).await? {
        return Err(ApiError::conflict(format!(
            "there is a project `{0}`, or was: names of deleted projects cannot be used again",
            request.name
        )));
    }
    let row = full_row(&hub, &request.name).await?;
    Ok((StatusCode::CREATED, Json(row)).into_response())
}

pub(super) async fn show(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<ProjectRow>, ApiError> {
    let is_administrator = caller.is_of_default_project() && has_scope(&caller.0, Scope::Admin);
    if caller.0.project != name && !is_administrator {
        return Err(ApiError::not_found("project"));
    }
    full_row(&hub, &name).await.map(Json)
}

/// Changes the settings that the request contains; `null` removes a limit.
pub(super) async fn update(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: BodyResult,
) -> Result<Json<ProjectRow>, ApiError> {
    require_administrator(&caller)?;
    let changes: Map<String, Value> = parse_json(&read_body(body)?)?;
    let by: AuditActor = Actor::from(caller).into();
    // Again, if another request changes the settings meanwhile.
    loop {
        let found = find_project(&hub, &name).await?;
        let found = found
            .ok_or_else(|| ApiError::not_found("project"))?
            .settings;
        let settings = merge_settings(&found, changes.clone())?;
        check_settings(&settings)?;
        let updated = hub
            .store
            .update_project(name.clone(), found, settings, by.clone());
        if updated.await? {
            break;
        }
    }
    // Tasks may have waited for a limit that is higher now.
    hub.wake.notify_one();
    full_row(&hub, &name).await.map(Json)
}

fn merge_settings(
    settings: &ProjectSettings,
    changes: Map<String, Value>,
) -> Result<ProjectSettings, ApiError> {
    let Ok(Value::Object(mut merged)) = serde_json::to_value(settings) else {
        return Err(ApiError::bad_request("the settings have no JSON form"));
    };
    merged.extend(changes);
    // Limits can be `null`; all repositories are allowed without patterns.
    if merged.get("repositories").is_some_and(Value::is_null) {
        merged.remove("repositories");
    }
    Ok(parse_json(Value::Object(merged).to_string().as_bytes())?)
}

pub(super) async fn remove(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    require_administrator(&caller)?;
    if name == DEFAULT_PROJECT {
        return Err(ApiError::conflict(format!(
            "the project `{DEFAULT_PROJECT}` cannot be deleted"
        )));
    }
    let tokens = hub.store.list_tokens().await?;
    let by = Actor::from(caller).into();
    match hub.store.delete_project(name.clone(), by).await? {
        DeleteProjectOutcome::Deleted => {}
        DeleteProjectOutcome::NotFound => return Err(ApiError::not_found("project")),
        DeleteProjectOutcome::Unfinished(tasks) => {
            return Err(ApiError::conflict(format!(
                "the project has unfinished tasks ({tasks}); cancel them or wait for their end, then delete it"
            )));
        }
    }
    let own = tokens.iter().filter(|token| token.project == name);
    own.for_each(|token| hub.active_access.end_token(token.token_id));
    Ok(StatusCode::NO_CONTENT)
}

/// Names are parts of URLs.
fn is_project_name(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
    name.starts_with(plain)
        && name.len() <= MAX_NAME_CHARS
        && name.chars().all(|char| plain(char) || "-_.".contains(char))
}

fn check_settings(settings: &ProjectSettings) -> Result<(), ApiError> {
    let patterns = &settings.repositories;
    let is_long = |pattern: &String| pattern.chars().count() > MAX_PATTERN_CHARS;
    if patterns.len() > MAX_PATTERNS || patterns.iter().any(is_long) {
        let detail = format!(
            "must be at most {MAX_PATTERNS} patterns of at most {MAX_PATTERN_CHARS} characters"
        );
        return Err(ApiError::field("repositories", detail));
    }
    // No address with such a character is allowed.
    if patterns.iter().any(|it| it.contains(char::is_control)) {
        return Err(ApiError::field(
            "repositories",
            "must not contain control characters",
        ));
    }
    RepositoryPatterns::new(patterns)
        .map(drop)
        .map_err(|error| ApiError::field("repositories", error.to_string()))
}

fn project_row(project: Project) -> ProjectRow {
    ProjectRow {
        name: project.name,
        created_at: timestamp(project.created_at),
        settings: project.settings,
        usage: None,
        submitters: Vec::new(),
    }
}

async fn full_row(hub: &Hub, name: &str) -> Result<ProjectRow, ApiError> {
    let found = find_project(hub, name).await?;
    let found = found.ok_or_else(|| ApiError::not_found("project"))?;
    let submitters = hub.store.project_usage(name.to_owned()).await?;
    Ok(ProjectRow {
        usage: Some(total_usage(&submitters)),
        submitters: submitters
            .into_iter()
            .map(|it| SubmitterUsage {
                name: it.name,
                usage: it.usage,
            })
            .collect(),
        ..project_row(found)
    })
}
