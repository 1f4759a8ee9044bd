//! Pages of tasks in any order, counts, and saved run statistics, without reading rows that are not shown.

use std::borrow::Cow;

use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{self, LEDGER_SUMS, PostgresColumns, ROW_COLUMNS, VIEW_COLUMNS, int, text};
use crate::hub::error::HubStoreError;
use crate::hub::rows::TaskView;
use crate::hub::sqlite::columns::{damaged, outcome};
use crate::hub::task_queries::{
    ACCEPTED_PREFIX, MAX_PLACES, NO_AGENT, NewRunStats, RunStatsRow, SEARCH_TEXT_FIELD, TaskCounts,
    TaskFilter, TaskPageRequest, TaskSortOrder,
};

/// The statistics `f` without the long text for the search, their last field, which would take longest to parse.
macro_rules! searchless_stats {
    () => {
        "CASE WHEN strpos(f.body, ',' || $11::text) > 0
              THEN split_part(f.body, ',' || $11, 1) || '}'
              ELSE f.body END::jsonb"
    };
}

/// The agent that ran a task.
macro_rules! agent_of_run {
    () => {
        concat!(
            "(SELECT ",
            searchless_stats!(),
            " ->> 'agent' FROM run_stats f WHERE f.task_no = t.task_no)"
        )
    };
}

/// The condition of a filter on `task t` and `request r`, with the parameters of [`FilterParams`].
const FILTER_CLAUSE: &str = concat!(
    "r.project = $1
       AND ($2::text IS NULL OR $2 = coalesce(r.agent, ",
    agent_of_run!(),
    ", $3::text))
       AND ($5::text IS NULL OR r.place = $5)
       AND ($6::text IS NULL OR t.worker = $6)
       AND ($7::text IS NULL OR r.submitted_by = $7)
       AND ($8::text IS NULL OR t.labels ? $8)
       AND ($9::bigint IS NULL OR r.created_at >= $9)
       AND ($13::bigint IS NULL OR r.created_at < $13)
       AND ($14::text IS NULL OR position($14 IN r.body) > 0)
       AND ($10::text IS NULL OR EXISTS (
           SELECT 1 FROM (SELECT ",
    searchless_stats!(),
    " AS stats,
                                 $10::text::jsonb AS wanted
                          FROM run_stats f WHERE f.task_no = t.task_no OFFSET 0) s
           WHERE s.stats @> (s.wanted -> 'fields')
             AND (s.wanted -> 'check' IS NULL OR
                 (SELECT CASE n WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE n::numeric END
                  FROM (SELECT s.stats -> 'checks' -> (s.wanted #>> '{check,name}')
                               ->> (s.wanted #>> '{check,number}')) number (n))
                 >= (s.wanted #>> '{check,at_least}')::numeric)
             AND (s.wanted -> 'finding' IS NULL OR EXISTS (
                 SELECT 1 FROM jsonb_array_elements(s.wanted #> '{finding,severities}') wanted (severity)
                 WHERE s.stats -> 'guard' @> jsonb_build_array(
                     jsonb_build_array(s.wanted #> '{finding,kind}', wanted.severity))))))
       AND NOT EXISTS (SELECT 1 FROM unnest($4::text[]) w WHERE NOT (
           position(w IN lower(r.title)) > 0 OR position(w IN lower(coalesce(r.place, ''))) > 0
           OR position(w IN r.task_id::text) > 0 OR position(w IN lower(coalesce(t.reason, ''))) > 0
           OR EXISTS (SELECT 1 FROM run_stats f WHERE f.task_no = t.task_no
               AND position(replace(replace(w, '\\', '\\\\'), '\"', '\\\"')
                            IN split_part(f.body, $11::text, 2)) > 0)))"
);

/// Whether a person accepted the work of a verified task.
const ACCEPTED_CLAUSE: &str = "EXISTS (SELECT 1 FROM run_stats f WHERE f.task_no = t.task_no
       AND starts_with(f.body, $12::text))";

/// The parameters of [`FILTER_CLAUSE`] and [`ACCEPTED_CLAUSE`].
struct FilterParams<'a> {
    project: Cow<'a, str>,
    agent: Option<Cow<'a, str>>,
    words: Vec<Cow<'a, str>>,
    place: Option<Cow<'a, str>>,
    worker: Option<Cow<'a, str>>,
    submitted_by: Option<Cow<'a, str>>,
    label: Option<Cow<'a, str>>,
    since: Option<i64>,
    stats: Option<String>,
    until: Option<i64>,
    revision_part: Option<String>,
}

impl<'a> FilterParams<'a> {
    fn of(filter: &'a TaskFilter) -> Result<Self, HubStoreError> {
        let optional = |of: &'a Option<String>| of.as_deref().map(text);
        Ok(Self {
            project: text(&filter.project),
            agent: optional(&filter.agent),
            words: filter.words.iter().map(|word| text(word)).collect(),
            place: optional(&filter.place),
            worker: optional(&filter.worker),
            submitted_by: optional(&filter.submitted_by),
            label: optional(&filter.label),
            since: filter.since,
            stats: filter.stats_json()?,
            until: filter.until,
            revision_part: filter.revision_part(),
        })
    }

    /// In the order of their numbers.
    fn list(&self) -> [&(dyn ToSql + Sync); 14] {
        [
            &self.project,
            &self.agent,
            &NO_AGENT,
            &self.words,
            &self.place,
            &self.worker,
            &self.submitted_by,
            &self.label,
            &self.since,
            &self.stats,
            &SEARCH_TEXT_FIELD,
            &ACCEPTED_PREFIX,
            &self.until,
            &self.revision_part,
        ]
    }
}

const fn order_column(order: TaskSortOrder) -> &'static str {
    match order {
        TaskSortOrder::Created => "r.created_at",
        TaskSortOrder::Updated => "t.updated_at",
        TaskSortOrder::Cost => {
            "(SELECT coalesce(sum(micro_usd), 0) FROM cost WHERE cost.task_no = t.task_no)"
        }
        TaskSortOrder::Tokens => {
            "(SELECT coalesce(sum(tokens_in::numeric + tokens_out), 0) FROM cost
              WHERE cost.task_no = t.task_no)"
        }
        TaskSortOrder::Attempts => "t.last_attempt",
        TaskSortOrder::Duration => "t.updated_at - r.created_at",
        // Texts are sorted by bytes, as in SQLite, and not by the database's collation.
        TaskSortOrder::State => "t.state || '/' || coalesce(t.outcome, '') COLLATE \"C\"",
        TaskSortOrder::Title => "lower(r.title COLLATE \"C\")",
        TaskSortOrder::Agent => {
            concat!(
                "coalesce(r.agent, ",
                agent_of_run!(),
                ", $3::text) COLLATE \"C\""
            )
        }
        TaskSortOrder::Place => "coalesce(r.place, '') COLLATE \"C\"",
    }
}

/// The order of a page. Ids are in the order of their creation.
fn order_clause(page: &TaskPageRequest) -> String {
    let direction = if page.ascending { "ASC" } else { "DESC" };
    match page.order {
        TaskSortOrder::Created => format!("r.task_id {direction}"),
        order @ TaskSortOrder::State => format!(
            "{} {direction}, {ACCEPTED_CLAUSE} {direction}, r.task_id DESC",
            order_column(order)
        ),
        order => format!("{} {direction}, r.task_id DESC", order_column(order)),
    }
}

/// Selects the numbers of the page's tasks first and then their rows, so that only these rows are assembled.
pub(super) async fn page(
    hub: &PostgresHub,
    filter: TaskFilter,
    page: TaskPageRequest,
) -> Result<Vec<TaskView>, HubStoreError> {
    let kinds = page.status_words();
    let order = order_clause(&page);
    let sql = format!(
        "SELECT {ROW_COLUMNS}, {VIEW_COLUMNS} FROM (
             SELECT t.task_no FROM request r JOIN task t ON t.task_no = r.task_no
             WHERE {FILTER_CLAUSE}
               AND ($15::text[] IS NULL OR t.state || '/' || coalesce(t.outcome, '') = ANY ($15))
               AND ($16::boolean IS NULL OR t.state <> 'succeeded'
                    OR t.outcome IS DISTINCT FROM 'verified' OR {ACCEPTED_CLAUSE} = $16)
             ORDER BY {order} LIMIT $17 OFFSET $18
         ) shown JOIN task t ON t.task_no = shown.task_no JOIN request r ON r.task_no = shown.task_no,
         LATERAL (SELECT {LEDGER_SUMS} FROM cost WHERE cost.task_no = t.task_no) c
         ORDER BY {order}"
    );
    let params = FilterParams::of(&filter)?;
    let (limit, skip) = (int(page.limit as u64), int(page.skip as u64));
    let mut bound: Vec<&(dyn ToSql + Sync)> = params.list().to_vec();
    bound.extend([&kinds as &(dyn ToSql + Sync), &page.accepted, &limit, &skip]);
    let rows = hub.rows(&sql, &bound).await?;
    let views = rows
        .iter()
        .map(|row| columns::read_task_view(&mut PostgresColumns::of(row)));
    views.collect()
}

pub(super) async fn task_counts(
    hub: &PostgresHub,
    filter: TaskFilter,
) -> Result<TaskCounts, HubStoreError> {
    let mut counts = TaskCounts::default();
    let sql = format!(
        "SELECT t.state, t.outcome, count(*),
                count(*) FILTER (WHERE t.state = 'succeeded' AND t.outcome = 'verified' AND {ACCEPTED_CLAUSE})
         FROM request r JOIN task t ON t.task_no = r.task_no
         WHERE {FILTER_CLAUSE} GROUP BY 1, 2"
    );
    let params = FilterParams::of(&filter)?;
    let counted = hub.rows(&sql, &params.list()).await?;
    for row in &counted {
        let mut cells = PostgresColumns::of(row);
        let state: &str = cells.next()?;
        let state = TaskState::parse(state).ok_or_else(|| damaged(state))?;
        let kind = (state, outcome(cells.next()?)?);
        counts.statuses.push((kind, cells.count()?));
        counts.accepted += cells.count()?;
    }
    // Names are sorted by bytes, not by the database's collation.
    let project = text(&filter.project);
    let sql =
        "SELECT coalesce(agent, $2::text) COLLATE \"C\", count(*) FROM request WHERE project = $1
               GROUP BY 1 ORDER BY 1";
    for row in &hub.rows(sql, &[&project, &NO_AGENT]).await? {
        let mut cells = PostgresColumns::of(row);
        counts.agents.push(cells.next()?);
        counts.all += cells.count()?;
    }
    let sql = "SELECT DISTINCT place COLLATE \"C\" FROM request
               WHERE project = $1 AND place IS NOT NULL ORDER BY 1 LIMIT $2";
    let limit = i64::from(MAX_PLACES);
    for row in &hub.rows(sql, &[&project, &limit]).await? {
        counts.places.push(PostgresColumns::of(row).next()?);
    }
    Ok(counts)
}

/// The saved statistics of these tasks.
pub(super) async fn saved_run_stats(
    hub: &PostgresHub,
    tasks: Vec<TaskId>,
) -> Result<Vec<(TaskId, String)>, HubStoreError> {
    let sql = "SELECT r.task_id, f.body FROM request r JOIN task t ON t.task_no = r.task_no
               JOIN run_stats f ON f.task_no = r.task_no
               WHERE r.task_id = ANY ($1::uuid[]) AND f.event_seq = t.event_seq";
    let ids: Vec<Uuid> = tasks.into_iter().map(TaskId::uuid).collect();
    let rows = hub.rows(sql, &[&ids]).await?;
    let pair = |row| {
        let mut cells = PostgresColumns::of(row);
        Ok((TaskId::new(cells.next()?), cells.next()?))
    };
    rows.iter().map(pair).collect()
}

/// The given tasks as they were submitted.
pub(super) async fn task_bodies(
    hub: &PostgresHub,
    tasks: Vec<TaskId>,
) -> Result<Vec<(TaskId, String)>, HubStoreError> {
    let ids: Vec<Uuid> = tasks.into_iter().map(TaskId::uuid).collect();
    let sql = "SELECT task_id, body FROM request WHERE task_id = ANY ($1::uuid[])";
    let rows = hub.rows(sql, &[&ids]).await?;
    let pair = |row| {
        let mut cells = PostgresColumns::of(row);
        Ok((TaskId::new(cells.next()?), cells.next()?))
    };
    rows.iter().map(pair).collect()
}

/// How long the first attempts of the latest tasks waited, in milliseconds.
pub(super) async fn queue_latencies(
    hub: &PostgresHub,
    project: String,
    limit: usize,
) -> Result<Vec<i64>, HubStoreError> {
    let sql = "SELECT u.begun_at - r.created_at FROM request r
               JOIN attempt u ON u.task_no = r.task_no AND u.attempt_number = 1
               WHERE r.project = $1 ORDER BY r.task_no DESC LIMIT $2";
    let rows = hub
        .rows(sql, &[&text(&project), &int(limit as u64)])
        .await?;
    rows.iter()
        .map(|row| PostgresColumns::of(row).next())
        .collect()
}

pub(super) async fn run_stats(
    hub: &PostgresHub,
    project: String,
) -> Result<Vec<RunStatsRow>, HubStoreError> {
    let sql = "SELECT r.task_id, t.event_seq, r.place, t.worker, r.created_at, f.event_seq, f.body FROM request r
               JOIN task t ON t.task_no = r.task_no LEFT JOIN run_stats f ON f.task_no = r.task_no
               WHERE r.project = $1 AND t.event_seq > 0 ORDER BY r.task_no";
    let rows = hub.rows(sql, &[&text(&project)]).await?;
    let line = |row| {
        let mut cells = PostgresColumns::of(row);
        let task_id = TaskId::new(cells.next()?);
        let event_seq = cells.count()?;
        let (place, worker, created_at) = (cells.next()?, cells.next()?, cells.next()?);
        let seq: Option<i64> = cells.next()?;
        let seq = seq.map(u64::try_from).transpose().map_err(damaged)?;
        Ok(RunStatsRow {
            task_id,
            place,
            worker,
            created_at,
            event_seq,
            saved: seq.zip(cells.next()?),
        })
    };
    rows.iter().map(line).collect()
}

pub(super) async fn stale_run_stats(
    hub: &PostgresHub,
    project: String,
    limit: usize,
) -> Result<Vec<(TaskId, u64)>, HubStoreError> {
    let sql = "SELECT r.task_id, t.event_seq FROM request r JOIN task t ON t.task_no = r.task_no
               LEFT JOIN run_stats f ON f.task_no = r.task_no
               WHERE r.project = $1 AND t.event_seq > 0 AND f.event_seq IS DISTINCT FROM t.event_seq
                 AND EXISTS (SELECT 1 FROM journal j WHERE j.task_no = t.task_no)
               ORDER BY t.task_no DESC LIMIT $2";
    let rows = hub
        .rows(sql, &[&text(&project), &int(limit as u64)])
        .await?;
    let pair = |row| {
        let mut cells = PostgresColumns::of(row);
        Ok((TaskId::new(cells.next()?), cells.count()?))
    };
    rows.iter().map(pair).collect()
}

pub(super) async fn save_run_stats(
    hub: &PostgresHub,
    stats: Vec<NewRunStats>,
) -> Result<(), HubStoreError> {
    // Statistics of a shorter journal must not replace those of a longer one. If there are several for one
    // task, the one of the longest journal is saved.
    let sql = "INSERT INTO run_stats (task_no, event_seq, body)
               SELECT DISTINCT ON (r.task_no) r.task_no, u.event_seq, u.body
               FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS u (task_id, event_seq, body)
               JOIN request r ON r.task_id = u.task_id
               ORDER BY r.task_no, u.event_seq DESC
               ON CONFLICT (task_no) DO UPDATE SET event_seq = excluded.event_seq, body = excluded.body
               WHERE excluded.event_seq >= run_stats.event_seq";
    let tasks: Vec<Uuid> = stats.iter().map(|(task, ..)| task.uuid()).collect();
    let seqs: Vec<i64> = stats.iter().map(|(_, seq, _)| int(*seq)).collect();
    let bodies: Vec<_> = stats.iter().map(|(.., body)| text(body)).collect();
    hub.rows(sql, &[&tasks, &seqs, &bodies]).await?;
    Ok(())
}
