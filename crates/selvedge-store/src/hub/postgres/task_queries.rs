//! Pages of tasks in any order, counts, and saved run statistics, without reading rows that are not shown.

use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{self, LEDGER_SUMS, PostgresColumns, ROW_COLUMNS, VIEW_COLUMNS, int, text};
use crate::hub::error::HubStoreError;
use crate::hub::rows::TaskView;
use crate::hub::sqlite::columns::{damaged, outcome};
use crate::hub::task_queries::{
    NO_AGENT, NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest, TaskSortOrder,
};

/// The condition of a filter on `task t` and `request r`: tenant, agent, placeholder for no agent, text.
const FILTER_CLAUSE: &str = "r.tenant = $1
       AND ($2::text IS NULL OR coalesce(r.agent, $3::text) = $2)
       AND ($4::text IS NULL OR position(lower($4) IN lower(r.title)) > 0
            OR position(lower($4) IN lower(coalesce(r.place, ''))) > 0
            OR position(lower($4) IN r.task_id::text) > 0)";

const fn order_clause(order: TaskSortOrder) -> &'static str {
    match order {
        TaskSortOrder::Newest => "r.task_id DESC",
        TaskSortOrder::Oldest => "r.task_id",
        TaskSortOrder::RecentlyUpdated => "t.updated_at DESC, r.task_id DESC",
        TaskSortOrder::MostExpensive => {
            "(SELECT coalesce(sum(micro_usd), 0) FROM cost WHERE cost.task_no = t.task_no) DESC,
             r.task_id DESC"
        }
        TaskSortOrder::MostTokens => {
            "(SELECT coalesce(sum(tokens_in::numeric + tokens_out), 0) FROM cost
              WHERE cost.task_no = t.task_no) DESC, r.task_id DESC"
        }
        TaskSortOrder::MostAttempts => "t.last_attempt DESC, r.task_id DESC",
    }
}

/// Selects the numbers of the page's tasks first and then their rows, so that only these rows are assembled.
pub(super) async fn page(
    hub: &PostgresHub,
    filter: TaskFilter,
    page: TaskPageRequest,
) -> Result<Vec<TaskView>, HubStoreError> {
    let kinds = page.status_words();
    let order = order_clause(page.order);
    let sql = format!(
        "SELECT {ROW_COLUMNS}, {VIEW_COLUMNS} FROM (
             SELECT t.task_no FROM request r JOIN task t ON t.task_no = r.task_no
             WHERE {FILTER_CLAUSE} AND ($5::text[] IS NULL OR t.state || '/' || coalesce(t.outcome, '') = ANY ($5))
             ORDER BY {order} LIMIT $6 OFFSET $7
         ) shown JOIN task t ON t.task_no = shown.task_no JOIN request r ON r.task_no = shown.task_no,
         LATERAL (SELECT {LEDGER_SUMS} FROM cost WHERE cost.task_no = t.task_no) c
         ORDER BY {order}"
    );
    let (tenant, agent) = (text(&filter.tenant), filter.agent.as_deref().map(text));
    let words = filter.text.as_deref().map(text);
    let (limit, skip) = (int(page.limit as u64), int(page.skip as u64));
    let rows = hub
        .rows(
            &sql,
            &[&tenant, &agent, &NO_AGENT, &words, &kinds, &limit, &skip],
        )
        .await?;
    let views = rows
        .iter()
        .map(|row| columns::read_task_view(&mut PostgresColumns::of(row)));
    views.collect()
}

pub(super) async fn task_counts(
    hub: &PostgresHub,
    filter: TaskFilter,
) -> Result<TaskCounts, HubStoreError> {
    let mut census = TaskCounts::default();
    let sql = format!(
        "SELECT t.state, t.outcome, count(*) FROM request r JOIN task t ON t.task_no = r.task_no
         WHERE {FILTER_CLAUSE} GROUP BY 1, 2"
    );
    let (tenant, agent) = (text(&filter.tenant), filter.agent.as_deref().map(text));
    let words = filter.text.as_deref().map(text);
    let counted = hub
        .rows(&sql, &[&tenant, &agent, &NO_AGENT, &words])
        .await?;
    for row in &counted {
        let mut cells = PostgresColumns::of(row);
        let state: &str = cells.next()?;
        let state = TaskState::parse(state).ok_or_else(|| damaged(state))?;
        let kind = (state, outcome(cells.next()?)?);
        census.statuses.push((kind, cells.count()?));
    }
    // Agents are sorted by bytes, not by the database's collation.
    let sql =
        "SELECT coalesce(agent, $2::text) COLLATE \"C\", count(*) FROM request WHERE tenant = $1
               GROUP BY 1 ORDER BY 1";
    for row in &hub.rows(sql, &[&tenant, &NO_AGENT]).await? {
        let mut cells = PostgresColumns::of(row);
        census.agents.push(cells.next()?);
        census.all += cells.count()?;
    }
    Ok(census)
}

/// How long the first attempts of the latest tasks waited, in milliseconds.
pub(super) async fn queue_latencies(
    hub: &PostgresHub,
    tenant: String,
    limit: usize,
) -> Result<Vec<i64>, HubStoreError> {
    let sql = "SELECT u.begun_at - r.created_at FROM request r
               JOIN attempt u ON u.task_no = r.task_no AND u.attempt_number = 1
               WHERE r.tenant = $1 ORDER BY r.task_no DESC LIMIT $2";
    let rows = hub.rows(sql, &[&text(&tenant), &int(limit as u64)]).await?;
    rows.iter()
        .map(|row| PostgresColumns::of(row).next())
        .collect()
}

pub(super) async fn run_stats(
    hub: &PostgresHub,
    tenant: String,
) -> Result<Vec<RunStatsRow>, HubStoreError> {
    let sql = "SELECT r.task_id, t.event_seq, f.event_seq, f.body FROM request r
               JOIN task t ON t.task_no = r.task_no LEFT JOIN run_stats f ON f.task_no = r.task_no
               WHERE r.tenant = $1 AND t.event_seq > 0 ORDER BY r.task_no";
    let rows = hub.rows(sql, &[&text(&tenant)]).await?;
    let line = |row| {
        let mut cells = PostgresColumns::of(row);
        let task_id = TaskId::new(cells.next()?);
        let event_seq = cells.count()?;
        let seq: Option<i64> = cells.next()?;
        let seq = seq.map(u64::try_from).transpose().map_err(damaged)?;
        Ok(RunStatsRow {
            task_id,
            event_seq,
            saved: seq.zip(cells.next()?),
        })
    };
    rows.iter().map(line).collect()
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
