//! Pages of tasks in any order, counts, and saved run statistics, without reading rows that are not shown.

use rusqlite::{Connection, OptionalExtension, ToSql, named_params, params};
use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;

use super::columns::{self, VIEW_COLUMNS, damaged, outcome, parsed};
use crate::hub::error::HubStoreError;
use crate::hub::rows::TaskView;
use crate::hub::task_queries::{
    ACCEPTED_PREFIX, MAX_PLACES, NO_AGENT, NewRunStats, RunStatsRow, SEARCH_TEXT_FIELD, TaskCounts,
    TaskFilter, TaskPageRequest, TaskSortOrder,
};

const FILTER_CLAUSE: &str = "project = :project
       AND (:agent IS NULL OR :agent = coalesce(agent, (
           SELECT json_extract(f.body, '$.agent') FROM run_stats f
           WHERE f.task_no = task.task_no), :none))
       AND (:place IS NULL OR place = :place)
       AND (:revision IS NULL OR EXISTS (
           SELECT 1 FROM task_body b WHERE b.task_no = task.task_no AND instr(b.body, :revision) > 0))
       AND (:worker IS NULL OR worker = :worker)
       AND (:submitted_by IS NULL OR submitted_by = :submitted_by)
       AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(labels) l WHERE l.value = :label))
       AND (:since IS NULL OR created_at >= :since)
       AND (:until IS NULL OR created_at < :until)
       AND (:stats IS NULL OR EXISTS (
           SELECT 1 FROM run_stats f WHERE f.task_no = task.task_no
           AND NOT EXISTS (
               SELECT 1 FROM json_each(:stats, '$.fields') w
               WHERE json_extract(f.body, '$.' || w.key) IS NOT w.value)
           AND (json_type(:stats, '$.check') IS NULL OR EXISTS (
               SELECT 1 FROM json_each(f.body, '$.checks') c
               WHERE c.key = json_extract(:stats, '$.check.name')
                 AND json_extract(c.value, '$.' || json_extract(:stats, '$.check.number'))
                     >= json_extract(:stats, '$.check.at_least')))
           AND (json_type(:stats, '$.finding') IS NULL OR EXISTS (
               SELECT 1 FROM json_each(f.body, '$.guard') g, json_each(:stats, '$.finding.severities') s
               WHERE json_extract(g.value, '$[0]') = json_extract(:stats, '$.finding.kind')
                 AND json_extract(g.value, '$[1]') = s.value))))
       AND NOT EXISTS (SELECT 1 FROM json_each(:words) w WHERE NOT (
           instr(lower(title), w.value) > 0 OR instr(lower(coalesce(place, '')), w.value) > 0
           OR instr(task_id, w.value) > 0 OR instr(lower(coalesce(reason, '')), w.value) > 0
           OR EXISTS (SELECT 1 FROM run_stats f WHERE f.task_no = task.task_no
               AND instr(f.body, :search_text) > 0
               AND instr(substr(f.body, instr(f.body, :search_text) + length(:search_text)),
                         replace(replace(w.value, '\\', '\\\\'), '\"', '\\\"')) > 0)))";

/// Whether a person accepted the work of a verified task.
const ACCEPTED_CLAUSE: &str = "EXISTS (SELECT 1 FROM run_stats f WHERE f.task_no = task.task_no
       AND substr(f.body, 1, length(:accepted_prefix)) = :accepted_prefix)";

const fn order_column(order: TaskSortOrder) -> &'static str {
    match order {
        TaskSortOrder::Created => "created_at",
        TaskSortOrder::Updated => "updated_at",
        TaskSortOrder::Cost => {
            "(SELECT coalesce(sum(micro_usd), 0) FROM cost c WHERE c.task_no = task.task_no)"
        }
        TaskSortOrder::Tokens => {
            "(SELECT coalesce(sum(tokens_in + tokens_out), 0) FROM cost c
              WHERE c.task_no = task.task_no)"
        }
        TaskSortOrder::Attempts => "last_attempt",
        TaskSortOrder::Duration => "updated_at - created_at",
        TaskSortOrder::State => "state || '/' || coalesce(outcome, '')",
        TaskSortOrder::Title => "lower(title)",
        TaskSortOrder::Agent => {
            "coalesce(agent, (SELECT json_extract(f.body, '$.agent') FROM run_stats f
                              WHERE f.task_no = task.task_no), :none)"
        }
        TaskSortOrder::Place => "coalesce(place, '')",
    }
}

/// The order of a page. Ids are in the order of their creation.
fn order_clause(page: &TaskPageRequest) -> String {
    let direction = if page.ascending { "ASC" } else { "DESC" };
    match page.order {
        TaskSortOrder::Created => format!("task_id {direction}"),
        order @ TaskSortOrder::State => format!(
            "{} {direction}, {ACCEPTED_CLAUSE} {direction}, task_id DESC",
            order_column(order)
        ),
        order => format!("{} {direction}, task_id DESC", order_column(order)),
    }
}

/// Strings as a JSON array.
fn json_array(strings: &[String]) -> Result<String, HubStoreError> {
    serde_json::to_string(strings).map_err(damaged)
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
           AND (:accepted IS NULL OR state <> 'succeeded' OR outcome IS NOT 'verified'
                OR {ACCEPTED_CLAUSE} = :accepted)
         ORDER BY {} LIMIT :limit OFFSET :skip",
        order_clause(page)
    ))?;
    let numbers = query.query_map(
        named_params! {
            ":project": filter.project, ":agent": filter.agent, ":none": NO_AGENT,
            ":place": filter.place, ":revision": filter.revision_part(), ":worker": filter.worker,
            ":submitted_by": filter.submitted_by, ":label": filter.label, ":since": filter.since,
            ":until": filter.until, ":stats": filter.stats_json()?,
            ":words": json_array(&filter.words)?,
            ":search_text": SEARCH_TEXT_FIELD, ":accepted_prefix": ACCEPTED_PREFIX,
            ":kinds": kinds, ":accepted": page.accepted, ":limit": page.limit, ":skip": page.skip,
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
        "SELECT state, outcome, count(*),
                sum(state = 'succeeded' AND outcome = 'verified' AND {ACCEPTED_CLAUSE})
         FROM task WHERE {FILTER_CLAUSE} GROUP BY 1, 2"
    ))?;
    let (stats, words) = (filter.stats_json()?, json_array(&filter.words)?);
    let revision = filter.revision_part();
    let bound: &[(&str, &dyn ToSql)] = named_params! {
        ":project": filter.project, ":agent": filter.agent, ":none": NO_AGENT,
        ":place": filter.place, ":revision": revision, ":worker": filter.worker,
        ":submitted_by": filter.submitted_by, ":label": filter.label, ":since": filter.since, ":until": filter.until,
        ":stats": stats, ":words": words,
        ":search_text": SEARCH_TEXT_FIELD, ":accepted_prefix": ACCEPTED_PREFIX,
    };
    let mut rows = query.query(bound)?;
    while let Some(row) = rows.next()? {
        let state: String = row.get(0)?;
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        let kind = (state, outcome(row.get(1)?)?);
        census.statuses.push((kind, row.get(2)?));
        census.accepted += row.get::<_, Option<u64>>(3)?.unwrap_or(0);
    }
    let mut query = db.prepare_cached(
        "SELECT coalesce(agent, ?2), count(*) FROM task WHERE project = ?1 GROUP BY 1 ORDER BY 1",
    )?;
    let agents = query.query_map(params![filter.project, NO_AGENT], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?))
    })?;
    for agent in agents {
        let (agent, count) = agent?;
        census.agents.push(agent);
        census.all += count;
    }
    let mut query = db.prepare_cached(
        "SELECT DISTINCT place FROM task WHERE project = ?1 AND place IS NOT NULL
         ORDER BY 1 LIMIT ?2",
    )?;
    let places = query.query_map(params![filter.project, MAX_PLACES], |row| row.get(0))?;
    census.places = places.collect::<Result<_, _>>()?;
    Ok(census)
}

/// The saved statistics of these tasks.
pub(super) fn saved_run_stats(
    db: &Connection,
    tasks: &[TaskId],
) -> Result<Vec<(TaskId, String)>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT f.body FROM task t JOIN run_stats f ON f.task_no = t.task_no
         WHERE t.task_id = ?1 AND f.event_seq = t.event_seq",
    )?;
    let mut saved = Vec::new();
    for task in tasks {
        let body = query.query_row([task.to_string()], |row| row.get(0));
        saved.extend(body.optional()?.map(|body| (*task, body)));
    }
    Ok(saved)
}

/// The given tasks as they were submitted.
pub(super) fn task_bodies(
    db: &Connection,
    tasks: &[TaskId],
) -> Result<Vec<(TaskId, String)>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT b.body FROM task t JOIN task_body b ON b.task_no = t.task_no WHERE t.task_id = ?1",
    )?;
    let mut bodies = Vec::new();
    for task in tasks {
        let body = query.query_row([task.to_string()], |row| row.get(0));
        bodies.extend(body.optional()?.map(|body| (*task, body)));
    }
    Ok(bodies)
}

/// How long the first attempts of the latest tasks waited, in milliseconds.
pub(super) fn queue_latencies(
    db: &Connection,
    project: &str,
    limit: usize,
) -> Result<Vec<i64>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT r.begun_at - t.created_at FROM task t CROSS JOIN attempt r
         ON r.task_no = t.task_no AND r.attempt_number = 1
         WHERE t.project = ?1 ORDER BY t.task_no DESC LIMIT ?2",
    )?;
    let waits = query.query_map(params![project, limit], |row| row.get(0))?;
    Ok(waits.collect::<Result<_, _>>()?)
}

pub(super) fn run_stats(db: &Connection, project: &str) -> Result<Vec<RunStatsRow>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT t.task_id, t.event_seq, f.event_seq, f.body, t.place, t.worker, t.created_at FROM task t
         LEFT JOIN run_stats f ON f.task_no = t.task_no
         WHERE t.project = ?1 AND t.event_seq > 0 ORDER BY t.task_no",
    )?;
    let mut rows = query.query([project])?;
    let mut stats = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: Option<u64> = row.get(2)?;
        let body: Option<String> = row.get(3)?;
        stats.push(RunStatsRow {
            task_id: parsed(&row.get::<_, String>(0)?)?,
            place: row.get(4)?,
            worker: row.get(5)?,
            created_at: row.get(6)?,
            event_seq: row.get(1)?,
            saved: seq.zip(body),
        });
    }
    Ok(stats)
}

pub(super) fn stale_run_stats(
    db: &Connection,
    project: &str,
    limit: usize,
) -> Result<Vec<(TaskId, u64)>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT t.task_id, t.event_seq FROM task t LEFT JOIN run_stats f ON f.task_no = t.task_no
         WHERE t.project = ?1 AND t.event_seq > 0 AND f.event_seq IS NOT t.event_seq
           AND EXISTS (SELECT 1 FROM journal j WHERE j.task_no = t.task_no)
         ORDER BY t.task_no DESC LIMIT ?2",
    )?;
    let mut rows = query.query(params![project, limit])?;
    let mut stale = Vec::new();
    while let Some(row) = rows.next()? {
        stale.push((parsed(&row.get::<_, String>(0)?)?, row.get(1)?));
    }
    Ok(stale)
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
