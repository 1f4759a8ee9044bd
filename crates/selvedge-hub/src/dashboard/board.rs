//! The hub as a whole as the dashboard asks for it: the list of tasks, and the fleet. What is shown is
//! read, and the rest is counted by the store.

use selvedge_core::fleet::{TaskState, WorkerRow};
use selvedge_face::reading::{
    Fleet, Order, Standing, TaskQuery, Tasks, Trouble, Unplaced, Visitor, Worker,
};
use selvedge_store::hub::{BoardFilter, BoardPage, Kind, ListOrder, TaskView};

use super::reading::failed;
use super::rows::{row, standing, sum_of_plan};
use crate::hub::Hub;
use crate::plans;

/// Waiting tasks that are looked through for those that nobody can take, the oldest first.
const LOOKED_AT: usize = 500;
/// Those of them that are shown.
const UNPLACED: usize = 50;
/// Tasks that were started lately: their waits are told.
const STARTED: usize = 200;

fn filter(visitor: &Visitor) -> BoardFilter {
    BoardFilter {
        tenant: visitor.tenant.clone().unwrap_or_default(),
        ..BoardFilter::default()
    }
}

fn group((state, outcome): Kind) -> &'static str {
    standing(state, outcome).group()
}

fn order(order: Order) -> ListOrder {
    match order {
        Order::Newest => ListOrder::Newest,
        Order::Oldest => ListOrder::Oldest,
        Order::Lately => ListOrder::Lately,
        Order::Dearest => ListOrder::Dearest,
        Order::Tokens => ListOrder::Tokens,
        Order::Attempts => ListOrder::Attempts,
    }
}

/// A page of the list.
pub(super) async fn tasks(
    hub: &Hub,
    visitor: &Visitor,
    query: &TaskQuery,
) -> Result<Tasks, Trouble> {
    let wanted = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let filter = BoardFilter {
        agent: wanted(&query.agent),
        text: wanted(&query.text),
        ..filter(visitor)
    };
    let census = hub.store().census(filter.clone()).await.map_err(failed)?;
    let mut tasks = Tasks {
        all: count(census.all),
        agents: census.agents,
        ..Tasks::default()
    };
    let mut kinds = Vec::new();
    for (kind, number) in census.kinds {
        let group = group(kind);
        *tasks.groups.entry(group).or_default() += count(number);
        if query.group.is_empty() || group == query.group {
            tasks.matching += count(number);
            kinds.push(kind);
        }
    }
    let page = BoardPage {
        kinds: (!query.group.is_empty()).then_some(kinds),
        order: order(query.order),
        skip: query.first(),
        limit: TaskQuery::PER_PAGE,
    };
    let page = hub.store().board(filter, page).await.map_err(failed)?;
    for view in &page {
        let mut row = row(view);
        if plans::is_plan(view) {
            let found = hub.store().task(view.row.task_id).await.map_err(failed)?;
            if let Some((_, body)) = found {
                sum_of_plan(hub, view, &mut row, &body).await?;
            }
        }
        tasks.rows.push(row);
    }
    Ok(tasks)
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The machines, and what waits for them.
pub(super) async fn fleet(hub: &Hub, visitor: &Visitor) -> Result<Fleet, Trouble> {
    let store = hub.store();
    let filter = filter(visitor);
    let census = store.census(filter.clone()).await.map_err(failed)?;
    let of = |wanted: fn(Standing) -> bool| -> u64 {
        let kinds = census.kinds.iter();
        let kinds = kinds.filter(|((state, outcome), _)| wanted(standing(*state, *outcome)));
        kinds.map(|(_, number)| number).sum()
    };
    let oldest = BoardPage {
        kinds: Some(vec![(TaskState::Queued, None)]),
        order: ListOrder::Oldest,
        skip: 0,
        limit: LOOKED_AT,
    };
    let tenant = filter.tenant.clone();
    let waiting = store.board(filter, oldest).await.map_err(failed)?;
    let now = store.now().await.map_err(failed)?;
    let since = waiting.iter().map(|view| view.row.updated_at).min();
    let unplaced = waiting.iter().filter_map(|view| unplaced(hub, view));
    let waits = store.waits(tenant.clone(), STARTED).await.map_err(failed)?;
    let mut workers = Vec::new();
    for worker in hub.sessions.workers() {
        workers.push(shown(hub, &tenant, worker).await?);
    }
    Ok(Fleet {
        workers,
        queued: of(|standing| standing == Standing::Queued),
        running: of(|standing| standing == Standing::Running),
        oldest_waiting_ms: since.map(|since| u64::try_from(now - since).unwrap_or(0)),
        median_wait_ms: median(waits),
        unplaced: unplaced.take(UNPLACED).collect(),
    })
}

fn unplaced(hub: &Hub, view: &TaskView) -> Option<Unplaced> {
    Some(Unplaced {
        id: view.row.task_id.to_string(),
        description: view.title.clone(),
        reason: hub.sessions.unplaceable(&view.labels)?,
    })
}

fn median(mut waits: Vec<i64>) -> Option<u64> {
    waits.sort_unstable();
    let middle = waits.get(waits.len() / 2)?;
    Some(u64::try_from(*middle).unwrap_or(0))
}

/// A machine, with the names of what it has of this tenant's.
async fn shown(hub: &Hub, tenant: &str, worker: WorkerRow) -> Result<Worker, Trouble> {
    let mut runs = Vec::new();
    for task in &worker.tasks {
        let found = hub.store().task(*task).await.map_err(failed)?;
        let own = found.filter(|(view, _)| view.tenant == tenant);
        runs.extend(own.map(|(view, _)| (task.to_string(), view.title)));
    }
    Ok(Worker {
        runs,
        name: worker.worker,
        connected: worker.connected,
        labels: worker.labels,
        slots: worker.slots,
        lost_leases: worker.lost_leases,
        version: worker.version,
        sandbox: worker.sandbox.unwrap_or_else(|| "not told".to_owned()),
        seen: Some(worker.last_seen_at),
    })
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_is_the_middle_one_and_none_of_none() {
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median(vec![90, 10, 20]), Some(20));
        assert_eq!(median(vec![-5]), Some(0), "a clock that was set back");
    }
}
