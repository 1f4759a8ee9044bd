//! Projects: the workers that a user may see, and the limits that queued tasks wait for.

use selvedge_core::format::counted;
use selvedge_protocol::{ProjectSettings, ProjectUsage, TaskState, WorkerRow};
use selvedge_store::hub::{
    HubStoreError, ListFilter, Project, ProjectSubmitter, ReachedLimit, TaskView,
};

use crate::hub::Hub;
use crate::plans;

/// Maximum number of held tasks of a project that the lists of workers contain.
const MAX_HELD: usize = 5_000;

/// A project that is not deleted.
pub(crate) async fn find_project(hub: &Hub, name: &str) -> Result<Option<Project>, HubStoreError> {
    let all = hub.store().projects().await?;
    Ok(all.into_iter().find(|project| project.name == name))
}

/// The sum of what the submitters of a project use.
pub(crate) fn total_usage(submitters: &[ProjectSubmitter]) -> ProjectUsage {
    let mut sum = ProjectUsage::default();
    for submitter in submitters {
        sum += submitter.usage;
    }
    sum
}

/// The limits of a project and their current use.
pub(crate) struct ProjectLimits {
    settings: ProjectSettings,
    submitters: Vec<ProjectSubmitter>,
    total: ProjectUsage,
}

impl ProjectLimits {
    pub(crate) async fn load(hub: &Hub, name: &str) -> Result<Self, HubStoreError> {
        let settings = find_project(hub, name).await?.map(|found| found.settings);
        let settings = settings.unwrap_or_default();
        // Without limits there is nothing to compare.
        let is_limited = settings
            != ProjectSettings {
                repositories: settings.repositories.clone(),
                max_queued: settings.max_queued,
                ..ProjectSettings::default()
            };
        let submitters = if is_limited {
            hub.store().project_usage(name.to_owned()).await?
        } else {
            Vec::new()
        };
        let total = total_usage(&submitters);
        Ok(Self {
            settings,
            submitters,
            total,
        })
    }

    /// The reached limit for which a task waits.
    pub(crate) fn why_waiting(&self, view: &TaskView) -> Option<String> {
        if view.row.lease.state != TaskState::Queued || plans::is_plan(view) {
            return None;
        }
        let mut submitters = self.submitters.iter();
        let submitter = submitters.find(|it| Some(it.submitter) == view.submitter);
        let submitter = submitter.map_or_else(ProjectUsage::default, |it| it.usage);
        let reached = ReachedLimit::of(&self.settings, self.total, submitter)?;
        let unknown = match reached {
            ReachedLimit::DailyCost(_) => self.total.calls_of_unknown_cost,
            ReachedLimit::DailyCostPerSubmitter(_) => submitter.calls_of_unknown_cost,
            ReachedLimit::Running(_) | ReachedLimit::RunningPerSubmitter(_) => 0,
        };
        let note = match unknown {
            0 => String::new(),
            count => format!("; {} of unknown cost not included", counted(count, "call")),
        };
        Some(format!("{reached}{note}"))
    }
}

/// The workers that take tasks of a project, with the tasks of this project that they hold.
pub(crate) async fn visible_workers(
    hub: &Hub,
    project: &str,
) -> Result<Vec<WorkerRow>, HubStoreError> {
    let mut workers = hub.sessions.workers_of(project);
    let filter = ListFilter {
        states: TaskState::HELD.to_vec(),
        project: Some(project.to_owned()),
        ..ListFilter::default()
    };
    if workers.iter().any(|worker| !worker.tasks.is_empty()) {
        let own = hub.store().tasks(filter, MAX_HELD).await?.tasks;
        let own: std::collections::HashSet<_> =
            own.into_iter().map(|view| view.row.task_id).collect();
        for worker in &mut workers {
            worker.tasks.retain(|task| own.contains(task));
        }
    }
    Ok(workers)
}
