//! Projects, their limits, and what of them is used.

use std::fmt;

use selvedge_core::model::MicroUsd;
use selvedge_core::repository::RepositoryPatterns;
use selvedge_protocol::{ProjectSettings, ProjectUsage};

use super::access::AuditActor;
use super::error::HubStoreError;
use super::rows::{NewTask, SubmitOutcome};

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A project to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// Its name, which is never used again after its deletion.
    pub name: String,
    /// Its settings.
    pub settings: ProjectSettings,
    /// The user who creates it, for the audit log.
    pub created_by: AuditActor,
}

/// A project that is not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: ProjectSettings,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteProjectOutcome {
    /// The project, its tokens, sessions, webhooks and schedules are gone.
    Deleted,
    /// The project does not exist.
    NotFound,
    /// The project has this number of unfinished tasks.
    Unfinished(u64),
}

/// Current usage of a submitter of a project: a token, by its name, or a person, by their identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSubmitter {
    /// Its number in the database.
    pub submitter: i64,
    /// The name of the token, or the last name of the person. Names may be equal.
    pub name: String,
    /// Its usage.
    pub usage: ProjectUsage,
}

/// A limit that is reached, for which queued tasks wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedLimit {
    /// Of the project's running tasks.
    Running(u32),
    /// Of the project's cost on this day.
    DailyCost(MicroUsd),
    /// Of the submitter's running tasks.
    RunningPerSubmitter(u32),
    /// Of the submitter's cost on this day.
    DailyCostPerSubmitter(MicroUsd),
}

impl ReachedLimit {
    /// The first limit that the project or one of its submitters has reached.
    pub fn of(
        settings: &ProjectSettings,
        project: ProjectUsage,
        submitter: ProjectUsage,
    ) -> Option<Self> {
        let runs = |limit: Option<u32>, usage: ProjectUsage| {
            limit.filter(|limit| usage.running >= u64::from(*limit))
        };
        let costs = |limit: Option<MicroUsd>, usage: ProjectUsage| {
            limit.filter(|limit| usage.cost_micro_usd >= *limit)
        };
        costs(settings.max_cost_micro_usd_per_day, project)
            .map(Self::DailyCost)
            .or_else(|| {
                let limit = settings.max_cost_micro_usd_per_day_per_submitter;
                costs(limit, submitter).map(Self::DailyCostPerSubmitter)
            })
            .or_else(|| runs(settings.max_running, project).map(Self::Running))
            .or_else(|| {
                runs(settings.max_running_per_submitter, submitter).map(Self::RunningPerSubmitter)
            })
    }
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running(limit) => {
                write!(f, "the project's limit of {limit} running tasks is reached")
            }
            Self::DailyCost(limit) => {
                let usd = limit.as_usd();
                write!(
                    f,
                    "the project's limit of ${usd:.2} a day is reached, until 00:00 UTC"
                )
            }
            Self::RunningPerSubmitter(limit) => {
                write!(
                    f,
                    "the submitter's limit of {limit} running tasks is reached"
                )
            }
            Self::DailyCostPerSubmitter(limit) => {
                let usd = limit.as_usd();
                write!(
                    f,
                    "the submitter's limit of ${usd:.2} a day is reached, until 00:00 UTC"
                )
            }
        }
    }
}

/// Why a project does not accept a task; `queued` tasks are in its queue. Subtasks were accepted with their plan.
pub(crate) fn refuse_task(
    settings: &ProjectSettings,
    queued: u64,
    task: &NewTask,
) -> Result<Option<SubmitOutcome>, HubStoreError> {
    if task.part_of.is_some() {
        return Ok(None);
    }
    if !settings.repositories.is_empty() {
        let patterns = RepositoryPatterns::new(&settings.repositories)
            .map_err(|error| HubStoreError::Damaged(error.to_string()))?;
        let is_allowed = |place: &String| patterns.allow(place);
        if !task.place.as_ref().is_some_and(is_allowed) {
            let allowed = settings.repositories.clone();
            return Ok(Some(SubmitOutcome::RepositoryNotAllowed(allowed)));
        }
    }
    let reached = settings
        .max_queued
        .filter(|limit| queued >= u64::from(*limit));
    Ok(reached.map(|limit| SubmitOutcome::QueueFull { limit }))
}

/// The settings of a project for the audit log.
pub(crate) fn settings_json(settings: &ProjectSettings) -> Result<String, HubStoreError> {
    serde_json::to_string(settings).map_err(|error| HubStoreError::Damaged(error.to_string()))
}

/// Parses stored settings.
pub(crate) fn parse_settings(json: &str) -> Result<ProjectSettings, HubStoreError> {
    serde_json::from_str(json).map_err(|error| HubStoreError::Damaged(error.to_string()))
}
