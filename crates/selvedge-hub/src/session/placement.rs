//! Why no worker can take a task: labels, agents, folders, quarantines, and what workers have declined.

use selvedge_core::model::TaskId;
use selvedge_protocol::WorkerCapabilities;
use selvedge_store::hub::{NewTask, TaskView};

use super::quarantine::Quarantine;

/// Requirements of a task on a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskNeeds<'a> {
    /// The project that it belongs to.
    pub(crate) project: &'a str,
    /// Labels that the worker must have.
    pub(crate) labels: &'a [String],
    /// The agent that the task names.
    pub(crate) agent: Option<&'a str>,
    /// Its repository or workspace.
    pub(crate) place: Option<&'a str>,
    /// The task, for which workers may have declined an offer.
    pub(crate) task: Option<TaskId>,
}

impl<'a> TaskNeeds<'a> {
    /// Labels alone.
    pub(crate) fn of_labels(project: &'a str, labels: &'a [String]) -> Self {
        Self {
            project,
            labels,
            agent: None,
            place: None,
            task: None,
        }
    }
}

impl<'a> From<&'a TaskView> for TaskNeeds<'a> {
    fn from(view: &'a TaskView) -> Self {
        Self {
            project: &view.project,
            labels: &view.labels,
            agent: view.agent.as_deref(),
            place: view.place.as_deref(),
            task: Some(view.row.task_id),
        }
    }
}

impl<'a> From<&'a NewTask> for TaskNeeds<'a> {
    fn from(new: &'a NewTask) -> Self {
        Self {
            project: &new.project,
            labels: &new.labels,
            agent: new.agent.as_deref(),
            place: new.place.as_deref(),
            task: None,
        }
    }
}

/// A connected worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    /// The project whose tasks it takes; `None` for all.
    pub(super) project: Option<&'a str>,
    pub(super) labels: &'a [String],
    pub(super) capabilities: Option<&'a WorkerCapabilities>,
    pub(super) quarantine: Option<&'a Quarantine>,
    /// Why it cannot run the task, as it found out when it tried.
    pub(super) declined: Option<&'a str>,
}

/// Why none of these workers can take the task now; `None` if one can.
pub(super) fn why_unschedulable(
    needs: TaskNeeds<'_>,
    mut workers: Vec<Candidate<'_>>,
) -> Option<String> {
    let is_any_connected = !workers.is_empty();
    workers.retain(|worker| worker.project.is_none_or(|own| own == needs.project));
    if workers.is_empty() {
        let problem = if is_any_connected {
            "no connected worker takes tasks of this project"
        } else {
            "no worker is connected"
        };
        return Some(problem.to_owned());
    }
    let has_labels = |worker: &Candidate<'_>| {
        let mut needed = needs.labels.iter();
        needed.all(|label| worker.labels.contains(label))
    };
    workers.retain(has_labels);
    if workers.is_empty() {
        let labels = needs.labels.join(", ");
        return Some(format!("no connected worker has all labels: {labels}"));
    }
    let mut problem = None;
    workers.retain(|worker| {
        let own = worker.capabilities.and_then(|own| own.problem.as_ref());
        problem = problem.take().or(own.map(|own| (worker.name, own)));
        own.is_none()
    });
    if let (true, Some((name, problem))) = (workers.is_empty(), problem) {
        return Some(format!(
            "no worker can run tasks; worker `{name}`: {problem}"
        ));
    }
    if let Some(agent) = needs.agent {
        let offered = list(&workers, |capabilities| &capabilities.agents);
        workers.retain(|worker| {
            worker
                .capabilities
                .is_none_or(|own| own.offers_agent(agent))
        });
        if workers.is_empty() {
            return Some(format!(
                "no worker can run this: needs agent `{agent}`; workers offer {offered}"
            ));
        }
    }
    if let Some(place) = needs.place {
        let allowed = list(&workers, |capabilities| &capabilities.folders);
        workers.retain(|worker| {
            worker
                .capabilities
                .is_none_or(|own| own.allows_place(place))
        });
        if workers.is_empty() {
            return Some(format!(
                "no worker can run this: needs the folder `{place}`; workers allow {allowed} (`--allow-path`)"
            ));
        }
    }
    let first_declined = workers
        .iter()
        .find_map(|worker| Some((worker.name, worker.declined?)));
    workers.retain(|worker| worker.declined.is_none());
    if let (true, Some((name, reason))) = (workers.is_empty(), first_declined) {
        return Some(format!(
            "no worker can run this; worker `{name}` declined it: {reason}"
        ));
    }
    let quarantined = workers
        .iter()
        .map(|worker| Some((worker.name, worker.quarantine?)));
    let quarantined: Vec<_> = quarantined.collect::<Option<_>>()?;
    let (name, quarantine) = quarantined
        .into_iter()
        .min_by_key(|(_, quarantine)| quarantine.until)?;
    Some(format!(
        "every suitable worker is quarantined; worker `{name}` until {}: {}",
        quarantine.until.strftime("%F %R UTC"),
        quarantine.visible_to(needs.project).reason
    ))
}

/// The announced capabilities of workers, in one line.
fn list(workers: &[Candidate<'_>], of: impl Fn(&WorkerCapabilities) -> &Vec<String>) -> String {
    let announced = workers.iter().filter_map(|worker| worker.capabilities);
    let mut words: Vec<&str> = announced.flat_map(of).map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}
