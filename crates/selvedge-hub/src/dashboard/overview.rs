//! The dashboard's task list and fleet page. Only rows that are shown are read; the store counts the rest.

use std::collections::HashMap;

use selvedge_core::model::{Outcome, Timestamp};
use selvedge_dashboard::backend::{
    DashboardError, DashboardUser, DisplayStatus, FleetOverview, StatsFilter, TaskList,
    TaskListItem, TaskQuery, TaskQueryOrder, UnschedulableTask, WorkerSummary,
};
use selvedge_protocol::{TaskState, WorkerRow};
use selvedge_store::hub::{
    CheckCondition, FindingCondition, RunStatsFilter, StateAndOutcome, TaskFilter, TaskPageRequest,
    TaskSortOrder, TaskView,
};

use super::backend::store_failure;
use super::rows::{apply_plan_totals, apply_stats, branch_of, row, run_status};
use crate::hub::Hub;
use crate::service::{ProjectLimits, visible_workers};
use crate::{plans, run_stats};

/// Maximum number of queued tasks that are checked for a suitable worker, oldest first.
const MAX_SCANNED: usize = 500;
/// Maximum number of unschedulable tasks that are shown.
const MAX_UNSCHEDULABLE: usize = 50;
/// Maximum number of recently started tasks for the median of the queue latencies.
const MAX_STARTED: usize = 200;

fn filter(user: &DashboardUser) -> TaskFilter {
    TaskFilter {
        project: user.project.clone().unwrap_or_default(),
        ..TaskFilter::default()
    }
}

fn order(order: TaskQueryOrder) -> TaskSortOrder {
    match order {
        TaskQueryOrder::Created => TaskSortOrder::Created,
        TaskQueryOrder::Updated => TaskSortOrder::Updated,
        TaskQueryOrder::Cost => TaskSortOrder::Cost,
        TaskQueryOrder::Tokens => TaskSortOrder::Tokens,
        TaskQueryOrder::Attempts => TaskSortOrder::Attempts,
        TaskQueryOrder::Duration => TaskSortOrder::Duration,
        TaskQueryOrder::State => TaskSortOrder::State,
        TaskQueryOrder::Description => TaskSortOrder::Title,
        TaskQueryOrder::Agent => TaskSortOrder::Agent,
        TaskQueryOrder::Place => TaskSortOrder::Place,
    }
}

fn stats_filter(wanted: &StatsFilter) -> RunStatsFilter {
    RunStatsFilter {
        fields: wanted.fields(),
        check: wanted.check.as_ref().map(|check| {
            let (number, at_least) = check.number;
            CheckCondition {
                name: check.name.clone(),
                number: number.field().to_owned(),
                at_least,
            }
        }),
        finding: wanted.finding.as_ref().map(|finding| FindingCondition {
            kind: finding.kind.clone(),
            severities: finding.severities(),
        }),
    }
}

/// A page of the list.
pub(super) async fn tasks(
    hub: &Hub,
    user: &DashboardUser,
    query: &TaskQuery,
) -> Result<TaskList, DashboardError> {
    let filter = task_filter(user, query);
    let by_stats = matches!(query.order, TaskQueryOrder::Agent | TaskQueryOrder::State);
    if filter.stats.is_some() || filter.agent.is_some() || by_stats {
        let refreshed = run_stats::refresh(hub, &filter.project).await;
        refreshed.map_err(store_failure)?;
    }
    let store = hub.store();
    let counts = store.task_counts(filter.clone()).await;
    let counts = counts.map_err(store_failure)?;
    let mut tasks = TaskList {
        all: count(counts.all),
        agents: counts.agents,
        places: counts.places,
        ..TaskList::default()
    };
    let matching = add_counts(&mut tasks, &counts.statuses, counts.accepted, &query.group);
    let on_page = query.on_last_page(tasks.matching);
    let is_group = !query.group.is_empty();
    let page = TaskPageRequest {
        statuses: is_group.then_some(matching.statuses),
        accepted: matching.accepted.filter(|_| is_group),
        order: order(query.order),
        ascending: query.ascending,
        skip: on_page.offset(),
        limit: TaskQuery::PER_PAGE,
    };
    let page = store.list_tasks(filter, page).await;
    tasks.rows = task_rows(hub, user, &page.map_err(store_failure)?).await?;
    Ok(tasks)
}

fn task_filter(user: &DashboardUser, query: &TaskQuery) -> TaskFilter {
    let wanted = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    TaskFilter {
        agent: wanted(&query.agent),
        words: query.words().map(str::to_lowercase).collect(),
        place: wanted(&query.place),
        revision: wanted(&query.branch),
        worker: wanted(&query.worker),
        stats: query.stats_filter().map(|wanted| stats_filter(&wanted)),
        submitted_by: wanted(&query.person),
        label: wanted(&query.label),
        since: query.since.map(Timestamp::as_millisecond),
        until: query.until.map(Timestamp::as_millisecond),
        ..filter(user)
    }
}

/// The statuses of the tasks in a group.
#[derive(Debug, Default)]
struct MatchingStatuses {
    statuses: Vec<StateAndOutcome>,
    /// Whether only accepted or only other verified tasks match; `None` if both do.
    accepted: Option<bool>,
}

/// Adds the numbers of tasks by group and outcome. Work that a person accepted is counted apart from the other
/// verified tasks.
fn add_counts(
    tasks: &mut TaskList,
    statuses: &[(StateAndOutcome, u64)],
    accepted: u64,
    group: &str,
) -> MatchingStatuses {
    let verified = (TaskState::Succeeded, Some(Outcome::Verified));
    let mut matching = MatchingStatuses::default();
    for (status, number) in statuses.iter().copied() {
        let is_verified = status == verified;
        let by_person = if is_verified { accepted } else { 0 };
        let parts = [
            (
                run_status(status.0, status.1),
                number.saturating_sub(by_person),
            ),
            (DisplayStatus::Accepted, by_person),
        ];
        for (display_status, number) in parts.into_iter().filter(|(_, number)| *number > 0) {
            *tasks.groups.entry(display_status.group()).or_default() += count(number);
            *tasks.outcomes.entry(display_status.key()).or_default() += count(number);
            if !display_status.matches(group) {
                continue;
            }
            tasks.matching += count(number);
            matching.statuses.push(status);
            if is_verified {
                let is_first = matching.accepted.is_none();
                matching.accepted = is_first.then_some(display_status == DisplayStatus::Accepted);
            }
        }
    }
    matching
}

async fn task_rows(
    hub: &Hub,
    user: &DashboardUser,
    page: &[TaskView],
) -> Result<Vec<TaskListItem>, DashboardError> {
    let shown: Vec<_> = page.iter().map(|view| view.row.task_id).collect();
    let bodies = hub.store().task_bodies(shown.clone()).await;
    let bodies: HashMap<_, _> = bodies.map_err(store_failure)?.into_iter().collect();
    let stats = run_stats::load_saved(hub, shown).await;
    let stats = stats.map_err(store_failure)?;
    let is_queued = |view: &TaskView| view.row.lease.state == TaskState::Queued;
    let limits = if page.iter().any(is_queued) {
        let project = user.project.as_deref().unwrap_or_default();
        let limits = ProjectLimits::load(hub, project).await;
        Some(limits.map_err(store_failure)?)
    } else {
        None
    };
    let mut rows = Vec::new();
    for view in page {
        let mut row = row(view);
        let body = bodies.get(&view.row.task_id);
        row.branch = body.and_then(|body| branch_of(body));
        if let Some(reached) = limits.as_ref().and_then(|limits| limits.why_waiting(view)) {
            row.reason = format!("waits: {reached}");
        }
        if let Some(stats) = stats.get(&view.row.task_id) {
            apply_stats(&mut row, stats);
        }
        if let Some(body) = body.filter(|_| plans::is_plan(view)) {
            apply_plan_totals(hub, view, &mut row, body).await?;
        }
        rows.push(row);
    }
    Ok(rows)
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The workers and the queued tasks.
pub(super) async fn fleet(
    hub: &Hub,
    user: &DashboardUser,
) -> Result<FleetOverview, DashboardError> {
    let store = hub.store();
    let filter = filter(user);
    let counts = store
        .task_counts(filter.clone())
        .await
        .map_err(store_failure)?;
    let of = |wanted: fn(DisplayStatus) -> bool| -> u64 {
        let kinds = counts.statuses.iter();
        let kinds = kinds.filter(|((state, outcome), _)| wanted(run_status(*state, *outcome)));
        kinds.map(|(_, number)| number).sum()
    };
    let oldest = TaskPageRequest {
        statuses: Some(vec![(TaskState::Queued, None)]),
        ascending: true,
        limit: MAX_SCANNED,
        ..TaskPageRequest::default()
    };
    let project = filter.project.clone();
    let waiting = store
        .list_tasks(filter, oldest)
        .await
        .map_err(store_failure)?;
    let now = store.now().await.map_err(store_failure)?;
    let since = waiting.iter().map(|view| view.row.updated_at).min();
    let unschedulable = waiting
        .iter()
        .filter_map(|view| unschedulable_task(hub, view));
    let latencies = store
        .queue_latencies(project.clone(), MAX_STARTED)
        .await
        .map_err(store_failure)?;
    let mut workers = Vec::new();
    let visible = visible_workers(hub, &project)
        .await
        .map_err(store_failure)?;
    for worker in visible {
        workers.push(load_worker(hub, worker).await?);
    }
    Ok(FleetOverview {
        workers,
        queued: of(|display_status| display_status == DisplayStatus::Queued),
        running: of(|display_status| display_status == DisplayStatus::Running),
        oldest_waiting_ms: since.map(|since| u64::try_from(now - since).unwrap_or(0)),
        median_wait_ms: median(latencies),
        unschedulable: unschedulable.take(MAX_UNSCHEDULABLE).collect(),
    })
}

fn unschedulable_task(hub: &Hub, view: &TaskView) -> Option<UnschedulableTask> {
    Some(UnschedulableTask {
        id: view.row.task_id.to_string(),
        description: view.title.clone(),
        reason: hub.sessions.why_unschedulable(view)?,
    })
}

fn median(mut latencies: Vec<i64>) -> Option<u64> {
    latencies.sort_unstable();
    let middle = latencies.get(latencies.len() / 2)?;
    Some(u64::try_from(*middle).unwrap_or(0))
}

/// A worker, with the titles of its tasks.
async fn load_worker(hub: &Hub, worker: WorkerRow) -> Result<WorkerSummary, DashboardError> {
    let mut runs = Vec::new();
    for task in &worker.tasks {
        let found = hub.store().task(*task).await.map_err(store_failure)?;
        runs.extend(found.map(|(view, _)| (task.to_string(), view.title)));
    }
    Ok(WorkerSummary {
        runs,
        name: worker.worker,
        connected: worker.connected,
        labels: worker.labels,
        slots: worker.slots,
        lost_leases: worker.lost_leases,
        version: worker.version,
        sandbox: worker.sandbox.unwrap_or_else(|| "not reported".to_owned()),
        agents: worker.capabilities.map(|own| own.agents),
        quarantine: worker
            .quarantine
            .map(|quarantine| (quarantine.until, quarantine.reason)),
        seen: Some(worker.last_seen_at),
    })
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn median_of_even_odd_and_empty() {
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median(vec![90, 10, 20]), Some(20));
        assert_eq!(median(vec![-5]), Some(0), "a clock that was set back");
    }
}
