//! Pages of tasks in any order, counts, and saved run statistics, without reading rows that are not shown.

use rusqlite::{Connection, ToSql, named_params, params};
use selvedge_protocol::TaskState;

use super::columns::{self, VIEW_COLUMNS, damaged, outcome, parsed};
use crate::hub::error::HubStoreError;
use crate::hub::rows::TaskView;
use crate::hub::task_queries::{
    NO_AGENT, NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest, TaskSortOrder,
};

const FILTER_CLAUSE: &str = "tenant = :tenant
       AND (:agent IS NULL OR coalesce(agent, :none) = :agent)
       AND (:text IS NULL OR instr(lower(title), lower(:text)) > 0
            OR instr(lower(coalesce(place, '')), lower(:text)) > 0
            OR instr(task_id, lower(:text)) > 0)";

const fn order_clause(order: TaskSortOrder) -> &'static str {
    match order {
        TaskSortOrder::Newest => "task_id DESC",
        TaskSortOrder::Oldest => "task_id",
        TaskSortOrder::RecentlyUpdated => "updated_at DESC, task_id DESC",
        TaskSortOrder::MostExpensive => {
            "(SELECT coalesce(sum(micro_usd), 0) FROM cost c WHERE c.task_no = task.task_no) DESC,
             task_id DESC"
        }
        TaskSortOrder::MostTokens => {
            "(SELECT coalesce(sum(tokens_in + tokens_out), 0) FROM cost c
              WHERE c.task_no = task.task_no) DESC, task_id DESC"
        }
        TaskSortOrder::MostAttempts => "last_attempt DESC, task_id DESC",
    }
}

/// Selects the numbers of the page's tasks first and then their rows, so that only these rows are assembled.
pub(super) fn page(
    db: &Connection,
    filter: &TaskFilter,
    page: &TaskPageRequest,
) -> Result<Vec<TaskView>, HubStoreError> {
    let kinds = page.status_words();
    let kinds = kinds.map(|kinds| serde_json::to_string(&kinds));
    let kinds = kinds.transpose().map_err(damaged)?;
    let mut query = db.prepare_cached(&format!(
        "SELECT task_no FROM task WHERE {FILTER_CLAUSE}
           AND (:kinds IS NULL OR state || '/' || coalesce(outcome, '')
                IN (SELECT value FROM json_each(:kinds)))
         ORDER BY {} LIMIT :limit OFFSET :skip",
        order_clause(page.order)
    ))?;
    let numbers = query.query_map(
        named_params! {
            ":tenant": filter.tenant, ":agent": filter.agent, ":none": NO_AGENT,
            ":text": filter.text, ":kinds": kinds, ":limit": page.limit, ":skip": page.skip,
        },
        |row| row.get::<_, i64>(0),
    )?;
    let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
    let mut query = db.prepare_cached(&format!(
        "SELECT {VIEW_COLUMNS} FROM task WHERE task_no = ?1"
    ))?;
    let view = |number: i64| query.query_row([number], |row| Ok(columns::read_task_view(row)))?;
    numbers.into_iter().map(view).collect()
}

pub(super) fn task_counts(
    db: &Connection,
    filter: &TaskFilter,
) -> Result<TaskCounts, HubStoreError> {
    let mut census = TaskCounts::default();
    let mut query = db.prepare_cached(&format!(
        "SELECT state, outcome, count(*) FROM task WHERE {FILTER_CLAUSE} GROUP BY 1, 2"
    ))?;
    let bound: &[(&str, &dyn ToSql)] = named_params! {
        ":tenant": filter.tenant, ":agent": filter.agent, ":none": NO_AGENT, ":text": filter.text,
    };
    let mut rows = query.query(bound)?;
    while let Some(row) = rows.next()? {
        let state: String = row.get(0)?;
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        let kind = (state, outcome(row.get(1)?)?);
        census.statuses.push((kind, row.get(2)?));
    }
    let mut query = db.prepare_cached(
        "SELECT coalesce(agent, ?2), count(*) FROM task WHERE tenant = ?1 GROUP BY 1 ORDER BY 1",
    )?;
    let agents = query.query_map(params![filter.tenant, NO_AGENT], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?))
    })?;
    for agent in agents {
        let (agent, count) = agent?;
        census.agents.push(agent);
        census.all += count;
    }
    Ok(census)
}

/// How long the first attempts of the latest tasks waited, in milliseconds.
pub(super) fn queue_latencies(
    db: &Connection,
    tenant: &str,
    limit: usize,
) -> Result<Vec<i64>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT r.begun_at - t.created_at FROM task t CROSS JOIN attempt r
         ON r.task_no = t.task_no AND r.attempt_number = 1
         WHERE t.tenant = ?1 ORDER BY t.task_no DESC LIMIT ?2",
    )?;
    let waits = query.query_map(params![tenant, limit], |row| row.get(0))?;
    Ok(waits.collect::<Result<_, _>>()?)
}

pub(super) fn run_stats(db: &Connection, tenant: &str) -> Result<Vec<RunStatsRow>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT t.task_id, t.event_seq, f.event_seq, f.body FROM task t
         LEFT JOIN run_stats f ON f.task_no = t.task_no
         WHERE t.tenant = ?1 AND t.event_seq > 0 ORDER BY t.task_no",
    )?;
    let mut rows = query.query([tenant])?;
    let mut stats = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: Option<u64> = row.get(2)?;
        let body: Option<String> = row.get(3)?;
        stats.push(RunStatsRow {
            task_id: parsed(&row.get::<_, String>(0)?)?,
            event_seq: row.get(1)?,
            saved: seq.zip(body),
        });
    }
    Ok(stats)
}

pub(super) fn save_run_stats(db: &Connection, stats: &[NewRunStats]) -> Result<(), HubStoreError> {
    // Statistics of a shorter journal must not replace those of a longer one.
    let mut keep = db.prepare_cached(
        "INSERT INTO run_stats SELECT task_no, ?2, ?3 FROM task WHERE task_id = ?1
         ON CONFLICT DO UPDATE SET event_seq = excluded.event_seq, body = excluded.body
         WHERE excluded.event_seq >= run_stats.event_seq",
    )?;
    for (task, seq, body) in stats {
        keep.execute(params![task.to_string(), seq, body])?;
    }
    Ok(())
}
