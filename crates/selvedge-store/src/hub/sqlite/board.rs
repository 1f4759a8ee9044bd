//! Pages of tasks in any order, counts, and kept facts, without reading what is not shown.

use rusqlite::{Connection, ToSql, named_params, params};
use selvedge_core::fleet::TaskState;

use super::columns::{self, VIEW, damaged, outcome, parsed};
use crate::hub::board::{
    BoardFilter, BoardPage, Census, FactLine, Kind, ListOrder, NO_AGENT, NewFacts,
};
use crate::hub::error::HubStoreError;
use crate::hub::rows::TaskView;

const FOUND: &str = "tenant = :tenant
       AND (:agent IS NULL OR coalesce(agent, :none) = :agent)
       AND (:text IS NULL OR instr(lower(title), lower(:text)) > 0
            OR instr(lower(coalesce(place, '')), lower(:text)) > 0
            OR instr(task_id, lower(:text)) > 0)";

/// A kind in one word, as the query makes it.
fn word((state, outcome): Kind) -> String {
    let outcome = outcome.map_or("", |outcome| outcome.as_str());
    format!("{}/{outcome}", state.as_str())
}

const fn order(order: ListOrder) -> &'static str {
    match order {
        ListOrder::Newest => "task_id DESC",
        ListOrder::Oldest => "task_id",
        ListOrder::Lately => "updated_at DESC, task_id DESC",
        ListOrder::Dearest => {
            "(SELECT coalesce(sum(micro_usd), 0) FROM cost c WHERE c.task_no = task.task_no) DESC,
             task_id DESC"
        }
        ListOrder::Tokens => {
            "(SELECT coalesce(sum(tokens_in + tokens_out), 0) FROM cost c
              WHERE c.task_no = task.task_no) DESC, task_id DESC"
        }
        ListOrder::Attempts => "last_run DESC, task_id DESC",
    }
}

/// First the numbers of those on the page, then their rows: what a row costs to put together is spent
/// for those alone.
pub(super) fn page(
    db: &Connection,
    filter: &BoardFilter,
    page: &BoardPage,
) -> Result<Vec<TaskView>, HubStoreError> {
    let kinds = page.kinds.as_ref();
    let kinds = kinds.map(|kinds| kinds.iter().copied().map(word).collect::<Vec<_>>());
    let kinds = kinds.map(|kinds| serde_json::to_string(&kinds));
    let kinds = kinds.transpose().map_err(damaged)?;
    let mut query = db.prepare_cached(&format!(
        "SELECT task_no FROM task WHERE {FOUND}
           AND (:kinds IS NULL OR state || '/' || coalesce(outcome, '')
                IN (SELECT value FROM json_each(:kinds)))
         ORDER BY {} LIMIT :limit OFFSET :skip",
        order(page.order)
    ))?;
    let numbers = query.query_map(
        named_params! {
            ":tenant": filter.tenant, ":agent": filter.agent, ":none": NO_AGENT,
            ":text": filter.text, ":kinds": kinds, ":limit": page.limit, ":skip": page.skip,
        },
        |row| row.get::<_, i64>(0),
    )?;
    let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
    let mut query = db.prepare_cached(&format!("SELECT {VIEW} FROM task WHERE task_no = ?1"))?;
    let view = |number: i64| query.query_row([number], |row| Ok(columns::view(row)))?;
    numbers.into_iter().map(view).collect()
}

pub(super) fn census(db: &Connection, filter: &BoardFilter) -> Result<Census, HubStoreError> {
    let mut census = Census::default();
    let mut query = db.prepare_cached(&format!(
        "SELECT state, outcome, count(*) FROM task WHERE {FOUND} GROUP BY 1, 2"
    ))?;
    let bound: &[(&str, &dyn ToSql)] = named_params! {
        ":tenant": filter.tenant, ":agent": filter.agent, ":none": NO_AGENT, ":text": filter.text,
    };
    let mut rows = query.query(bound)?;
    while let Some(row) = rows.next()? {
        let state: String = row.get(0)?;
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        let kind = (state, outcome(row.get(1)?)?);
        census.kinds.push((kind, row.get(2)?));
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

/// How long the first attempts of the latest tasks were waited for, in milliseconds.
pub(super) fn waits(
    db: &Connection,
    tenant: &str,
    limit: usize,
) -> Result<Vec<i64>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT r.begun_at - t.created_at FROM task t CROSS JOIN run r
         ON r.task_no = t.task_no AND r.run_number = 1
         WHERE t.tenant = ?1 ORDER BY t.task_no DESC LIMIT ?2",
    )?;
    let waits = query.query_map(params![tenant, limit], |row| row.get(0))?;
    Ok(waits.collect::<Result<_, _>>()?)
}

pub(super) fn facts(db: &Connection, tenant: &str) -> Result<Vec<FactLine>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT t.task_id, t.event_seq, f.event_seq, f.body FROM task t
         LEFT JOIN facts f ON f.task_no = t.task_no
         WHERE t.tenant = ?1 AND t.event_seq > 0 ORDER BY t.task_no",
    )?;
    let mut rows = query.query([tenant])?;
    let mut facts = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: Option<u64> = row.get(2)?;
        let body: Option<String> = row.get(3)?;
        facts.push(FactLine {
            task_id: parsed(&row.get::<_, String>(0)?)?,
            event_seq: row.get(1)?,
            kept: seq.zip(body),
        });
    }
    Ok(facts)
}

pub(super) fn keep(db: &Connection, facts: &[NewFacts]) -> Result<(), HubStoreError> {
    // Whoever folded less of a journal, and comes later, is not to win.
    let mut keep = db.prepare_cached(
        "INSERT INTO facts SELECT task_no, ?2, ?3 FROM task WHERE task_id = ?1
         ON CONFLICT DO UPDATE SET event_seq = excluded.event_seq, body = excluded.body
         WHERE excluded.event_seq >= facts.event_seq",
    )?;
    for (task, seq, body) in facts {
        keep.execute(params![task.to_string(), seq, body])?;
    }
    Ok(())
}
